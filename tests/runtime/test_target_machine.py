from __future__ import annotations

from dataclasses import replace

import pytest

from relay_tune.codegen.target import native_target, parse_target
from relay_tune.machine.pattern import BFLOAT16_PAIRS, WordSteps
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.runtime.target_machine import machine_of, measured_machine
from tests.schedule.machines import core

HASWELL = parse_target("x86_64-linux-gnu:haswell")


def limits(factor: float = 1.0, peak: float = 256e9) -> MachineLimits:
    """Those of a server core, its rates times a factor."""
    caches = ((48 << 10, 512e9), (1 << 20, 256e9), (32 << 20, 128e9))
    return MachineLimits(
        1,
        {"float32": peak},
        tuple(CacheLimit(size, factor * rate) for size, rate in caches),
        factor * 32e9,
    )


def test_rates_are_told_in_bytes_of_a_cycle() -> None:
    target = parse_target("x86_64-linux-gnu:x86-64-v4")
    machine = measured_machine(target, limits())
    assert [memory.bytes for memory in machine.caches] == [32 << 10, 768 << 10, 16 << 20]
    assert [memory.rate for memory in machine.memories] == pytest.approx([128, 64, 32, 8])
    assert [memory.scope.value for memory in machine.memories] == ["core", "core", "shared", "main"]


def test_noise_changes_nothing() -> None:
    assert measured_machine(HASWELL, limits(1.1)) == measured_machine(HASWELL, limits(0.9))
    assert measured_machine(HASWELL, limits()) != measured_machine(HASWELL, limits(0.5))


@pytest.mark.parametrize("caches", [0, 1])
def test_limits_of_too_few_caches_are_not_used(caches: int) -> None:
    few = replace(limits(), caches=limits().caches[:caches])
    assert machine_of(native_target(), few) == machine_of(native_target())


def test_targets_that_are_named_have_general_figures() -> None:
    assert machine_of(HASWELL) == machine_of(HASWELL, limits())
    steps = (("dot_s16s16", WordSteps(2, 1)), ("dot_u8s8_bounded", WordSteps(3, 2)))
    words = tuple(name for name, _ in steps)
    known = replace(core(32, 16), dot_products=words, in_steps=steps, lookup_bits=3)
    assert machine_of(HASWELL) == known


@pytest.mark.parametrize(
    ("cpu", "in_steps"),
    [
        ("skylake-avx512", ("dot_s16s16", "dot_u8s8_bounded")),
        ("cascadelake", ()),
        ("alderlake", ()),
        ("znver4", ()),
    ],
)
def test_words_take_several_instructions_where_no_instruction_does_all(
    cpu: str, in_steps: tuple[str, ...]
) -> None:
    machine = machine_of(parse_target(f"x86_64-linux-gnu:{cpu}"))
    assert tuple(name for name, _ in machine.in_steps) == in_steps
    assert set(in_steps) <= set(machine.dot_products)


@pytest.mark.parametrize(("cpu", "is_wanted"), [("haswell", True), ("cascadelake", False)])
def test_bytes_are_bounded_where_no_instruction_takes_any(cpu: str, is_wanted: bool) -> None:
    words = machine_of(parse_target(f"x86_64-linux-gnu:{cpu}")).dot_products
    assert ("dot_u8s8_bounded" in words) is is_wanted


@pytest.mark.parametrize(
    ("cpu", "cycles"), [("sapphirerapids", 5 * (20.0,)), ("icelake-server", ())]
)
def test_only_matrix_registers_have_a_rate(cpu: str, cycles: tuple[float, ...]) -> None:
    machine = machine_of(parse_target(f"x86_64-linux-gnu:{cpu}"))
    assert tuple(each.cycles for each in machine.intrinsics) == cycles


@pytest.mark.parametrize(
    ("matrices", "cycles"),
    [(2048e9, 16.0), (2200e9, 16.0), (4096e9, 8.0), (700e9, 20.0), (None, 20.0)],
)
def test_the_rate_of_matrix_registers_is_measured(matrices: float | None, cycles: float) -> None:
    target = parse_target("x86_64-linux-gnu:sapphirerapids")
    known = limits(peak=128e9)  # 2e9 cycles a second
    if matrices is not None:
        known = replace(known, operations={**known.operations, BFLOAT16_PAIRS.name: matrices})
    machine = measured_machine(target, known)
    intrinsic = machine.intrinsic(BFLOAT16_PAIRS)
    assert intrinsic is not None and intrinsic.cycles == pytest.approx(cycles)
    assert not measured_machine(HASWELL, known).intrinsics


def test_this_machine_is_measured_or_remembered() -> None:
    native = native_target()
    assert machine_of(native) is not None
    assert machine_of(native, limits()) == measured_machine(native, limits())


def test_a_machine_may_have_two_caches() -> None:
    caches = (CacheLimit(1 << 15, 8e9), CacheLimit(1 << 22, 4e9))
    machine = measured_machine(HASWELL, MachineLimits(1, {"float32": 1e9}, caches, 1e9))
    assert [memory.scope.value for memory in machine.memories] == ["core", "core", "main"]


@pytest.mark.parametrize(("bfloats", "has"), [(500e9, True), (128e9, False), (None, True)])
def test_words_that_are_slower_than_floats_are_not_used(bfloats: float | None, has: bool) -> None:
    target = parse_target("x86_64-linux-gnu:cooperlake")
    known = limits()
    if bfloats is not None:
        known = replace(known, operations={**known.operations, "bfloat16": bfloats})
    assert ("dot_b16b16" in measured_machine(target, known).dot_products) == has
    assert "dot_u8s8" in measured_machine(target, known).dot_products


@pytest.mark.parametrize(("ratio", "has"), [(0.48, False), (2.0, True)])
@pytest.mark.parametrize("disturbed", ["float32", "bfloat16"])
def test_a_disturbed_measurement_leaves_the_choice(ratio: float, has: bool, disturbed: str) -> None:
    target = parse_target("x86_64-linux-gnu:cooperlake")
    known = limits()
    rates = {**known.operations, "bfloat16": ratio * known.operations["float32"]}
    rates[disturbed] *= 0.6
    machine = measured_machine(target, replace(known, operations=rates))
    assert ("dot_b16b16" in machine.dot_products) == has
