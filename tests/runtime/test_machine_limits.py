from __future__ import annotations

from dataclasses import replace

import pytest

from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits

LIMITS = MachineLimits(
    threads=2,
    operations={"float32": 100.0, "int8": 400.0},
    caches=(CacheLimit(100.0, 50.0), CacheLimit(1000.0, 20.0)),
    memory=10.0,
)
WITH_MATRICES = replace(LIMITS, operations={**LIMITS.operations, BFLOAT16_PAIRS.name: 900.0})


def work(moved: int = 0, **operations: int) -> KernelWork:
    return KernelWork(sum(operations.values()), operations, moved)


def test_what_takes_longer_is_the_limit() -> None:
    by_compute, by_cache = LIMITS.bound(work(50, float32=200)), LIMITS.bound(work(50, float32=50))
    assert (by_compute.seconds, by_compute.name) == (2.0, "compute")
    assert (by_cache.seconds, by_cache.name) == (1.0, "L1")


def test_each_element_type_has_its_own_peak() -> None:
    assert LIMITS.bound(work(int8=400)).seconds == 1.0
    assert LIMITS.bound(work(float64=400)).seconds == 4.0


def test_types_that_are_slower_than_float32_are_computed_in_float32() -> None:
    slow = replace(LIMITS, operations={**LIMITS.operations, "bfloat16": 50.0})
    assert slow.bound(work(bfloat16=400)).seconds == 4.0


def test_stages_follow_each_other_each_at_its_own_rate() -> None:
    several = work(float32=100, **{BFLOAT16_PAIRS.name: 1800})
    assert WITH_MATRICES.bound(several).seconds == pytest.approx(1.0 + 2.0)


def test_the_limit_is_that_of_the_quickest_way_that_the_machine_has() -> None:
    direct, matrices = work(float32=400), work(float32=10, **{BFLOAT16_PAIRS.name: 900})
    assert WITH_MATRICES.least_bound([direct, matrices]) == WITH_MATRICES.bound(matrices)
    assert LIMITS.least_bound([direct, matrices]) == LIMITS.bound(direct)


@pytest.mark.parametrize(
    ("size", "name", "seconds"),
    [(100, "L1", 2.0), (200, "L2", 10.0), (1000, "L2", 50.0), (2000, "memory", 200.0)],
)
def test_data_come_from_the_first_cache_that_holds_them(
    size: int, name: str, seconds: float
) -> None:
    bound = LIMITS.reading(size)
    assert (bound.name, bound.seconds) == (name, pytest.approx(seconds))


def test_data_somewhat_larger_than_a_cache_are_partly_there() -> None:
    seconds = [LIMITS.reading(size).seconds for size in range(0, 4000, 10)]
    assert seconds == sorted(seconds)
    assert LIMITS.reading(150).seconds == pytest.approx(75 / 50 + 75 / 20)


def test_disturbed_measurements_are_corrected_upwards() -> None:
    low = MachineLimits(2, {"float32": 90.0}, (CacheLimit(100, 60), CacheLimit(1000, 10)), 11.0)
    joined = MachineLimits(
        2,
        {"float32": 100.0, "int8": 400.0},
        (CacheLimit(100, 60), CacheLimit(1000, 20)),
        11.0,
    )
    assert LIMITS.joined(low) == low.joined(LIMITS) == joined


def test_the_rows_of_a_log_tell_the_limits_again() -> None:
    entries = LIMITS.entries()
    assert MachineLimits.from_entries(entries, 2) == LIMITS
    assert MachineLimits.from_entries(entries, 1) is None


def test_rates_that_did_not_repeat_are_told() -> None:
    doubtful = replace(LIMITS, disturbed=2)
    assert MachineLimits.from_entries(doubtful.entries(), 2) == doubtful
    assert "2 rates of the machine did not repeat" in str(doubtful)
    assert "repeat" not in str(LIMITS)
    assert doubtful.joined(LIMITS) == LIMITS.joined(doubtful) == LIMITS


def test_logs_may_tell_of_matrix_registers() -> None:
    assert MachineLimits.from_entries(WITH_MATRICES.entries(), 2) == WITH_MATRICES
    assert WITH_MATRICES.bound(work(float32=400)) == LIMITS.bound(work(float32=400))


@pytest.mark.parametrize("missing", ["float32 operations/s", "L1 bytes/s", "memory bytes/s"])
def test_incomplete_rows_tell_nothing(missing: str) -> None:
    entries = {n: value for n, value in LIMITS.entries().items() if not n.startswith(missing)}
    assert MachineLimits.from_entries(entries, 2) is None
    assert MachineLimits.from_entries({**LIMITS.entries(), f"{missing}, 2 threads": 0.0}, 2) is None


@pytest.mark.parametrize("value", [5e-324, 1e-9, 1e300])
@pytest.mark.parametrize(
    "name", ["float32 operations/s", "L2 bytes", "L1 bytes/s", "memory bytes/s"]
)
def test_rows_of_no_machine_tell_nothing(name: str, value: float) -> None:
    entries = {**LIMITS.entries(), f"{name}, 2 threads": value}
    found = MachineLimits.from_entries(entries, 2)
    assert found is None or found.caches == LIMITS.caches[:1]


def test_limits_of_another_number_of_caches_are_joined() -> None:
    other = replace(LIMITS, caches=(CacheLimit(1.0, 1.0),), memory=99.0)
    assert LIMITS.joined(other) == replace(LIMITS, memory=99.0)
    assert other.joined(LIMITS) == replace(other, memory=99.0)
