"""The description of schedules: fixed length, the heaviest nest first."""

from __future__ import annotations

import math
from dataclasses import replace

from relay_tune.op.lower import TensorProgram
from relay_tune.schedule.apply import plan_program
from relay_tune.schedule.features import FEATURE_NAMES, features
from relay_tune.schedule.machine import Machine
from relay_tune.schedule.space import default_choice
from relay_tune.tensor.expression import Axis, Tensor, reduce
from relay_tune.tensor.tensor import compute, input_tensor

MACHINE = Machine(64, 32)


def product(rows: int, columns: int, depth: int) -> Tensor:
    a, b = (
        input_tensor("a", (rows, depth), "float32"),
        input_tensor("b", (depth, columns), "float32"),
    )
    k = Axis("k", depth)
    return compute("c", (rows, columns), lambda i, j: reduce("sum", [k], a[i, k] * b[k, j]))


def described(*outputs: Tensor, threads: int = 2, machine: Machine = MACHINE) -> dict[str, float]:
    spaces = plan_program(TensorProgram((), outputs, ())).spaces(machine, threads)
    choices = [default_choice(space) for space in spaces]
    estimates = [space.estimate(choice) for space, choice in zip(spaces, choices, strict=True)]
    return dict(zip(FEATURE_NAMES, features(spaces, choices, estimates), strict=True))


def test_sizes_enter_as_logarithms() -> None:
    found = described(product(32, 48, 64))
    assert found["log_output_points"] == math.log2(1 + 32 * 48)
    assert found["log_reduction_points"] == math.log2(65)
    assert found["axis0_log_extent"] == math.log2(49)
    assert found["axis1_log_extent"] == math.log2(33)
    assert found["axis2_log_extent"] == 0


def test_bytes_are_told_relative_to_the_caches() -> None:
    found = described(product(32, 48, 64))
    assert found["log_written_by_cache"] == math.log2(32 * 48 * 4 / MACHINE.cache_bytes[1])
    larger = replace(MACHINE, cache_bytes=tuple(2 * size for size in MACHINE.cache_bytes))
    again = described(product(32, 48, 64), machine=larger)
    for name in ("log_written_by_cache", "log_read_by_cache"):
        assert again[name] == found[name] - 1


def test_the_heaviest_nest_is_described_the_others_are_summed() -> None:
    small, large = product(8, 16, 8), product(64, 64, 64)
    alone, both = described(large), described(small, large)
    for name in ("log_output_points", "log_operations", "log_cycles", "log_tile_points"):
        assert both[name] == alone[name]
    assert (alone["nests"], both["nests"]) == (1, 2)
    assert alone["other_share"] == 0 < both["other_share"] < 0.5


def test_threads_are_told_apart() -> None:
    one, many = described(product(256, 256, 256), threads=1), described(product(256, 256, 256))
    assert one["log_threads"] < many["log_threads"]
    assert one["imbalance"] == 1.0


def test_everything_is_finite_even_for_a_single_element() -> None:
    scalar = input_tensor("x", (), "float32")
    found = described(compute("y", (), lambda: scalar[()] + 1.0))
    assert all(math.isfinite(value) for value in found.values())
