from __future__ import annotations

from pathlib import Path

from relay_tune.codegen.target import native_target
from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.runtime.cache_sizes import cache_sizes, read_cache_sizes
from relay_tune.runtime.measure_limits import machine_limits, measure_limits


def test_the_loops_run_here() -> None:
    limits = measure_limits(native_target(), 1)
    rates = [*limits.operations.values(), *(cache.rate for cache in limits.caches), limits.memory]
    assert all(1e8 < rate < 1e15 for rate in rates)
    assert len(limits.caches) == len(cache_sizes())
    assert (BFLOAT16_PAIRS.name in limits.operations) == bool(native_target().intrinsics)


def test_a_process_measures_once() -> None:
    assert machine_limits(1) is machine_limits(1)


def test_cache_sizes_are_read_from_the_system(tmp_path: Path) -> None:
    described = [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2M")]
    for number, (level, kind, size) in enumerate(described):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    (tmp_path / "index7").mkdir()
    assert read_cache_sizes(tmp_path) == (48 << 10, 2 << 20)


def test_a_system_that_says_nothing_has_no_sizes(tmp_path: Path) -> None:
    assert read_cache_sizes(tmp_path / "nowhere") == ()
    assert all(size > 0 for size in cache_sizes())
