"""The description of schedules: fixed length, the heaviest nest first."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.schedule.features.program_features import features
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.space.default_choice import default_choice
from relay_tune.targets.x86.intrinsics import INTRINSICS
from relay_tune.tensor.expression import Axis, Tensor, reduce, unary
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import SERVER, SIZES, with_sizes


def product(rows: int, columns: int, depth: int) -> Tensor:
    a, b = (
        input_tensor("a", (rows, depth), "float32"),
        input_tensor("b", (depth, columns), "float32"),
    )
    k = Axis("k", depth)
    return compute("c", (rows, columns), lambda i, j: reduce("sum", [k], a[i, k] * b[k, j]))


def described(*outputs: Tensor, threads: int = 2, machine: Machine = SERVER) -> dict[str, float]:
    return described_plan(plan_program(TensorProgram((), outputs, ())), threads, machine)


def described_plan(
    plan: Plan, threads: int = 1, machine: Machine = SERVER, unroll: int = 0
) -> dict[str, float]:
    spaces = plan.spaces(machine, threads)
    choices = [default_choice(space) for space in spaces]
    if unroll:
        choices = [replace(choice, tile=(1, 4, 16), unroll=unroll) for choice in choices]
    estimates = [space.estimate(choice) for space, choice in zip(spaces, choices, strict=True)]
    found = features(spaces, choices, estimates, plan.fixed_cycles(machine))
    return dict(zip(FEATURE_NAMES, found, strict=True))


def window(channels: int) -> TensorProgram:
    """A sliding window of 3 x 3 over each channel by itself."""
    x = input_tensor("x", (34, 34, channels), "float32")
    w = input_tensor("w", (3, 3, channels), "float32")
    p, q = Axis("p", 3), Axis("q", 3)
    y = compute(
        "y",
        (32, 32, channels),
        lambda i, j, c: reduce("sum", [p, q], x[i + p, j + q, c] * w[p, q, c]),
    )
    return TensorProgram((x, w), (y,), ())


def shares(rows: int, columns: int) -> TensorProgram:
    """The quotients of exponentials and their sums."""
    x = input_tensor("x", (rows, columns), "float32")
    k = Axis("k", columns)
    powers = compute("powers", (rows, columns), lambda i, j: unary("exp", x[i, j]))
    total = compute("total", (rows,), lambda i: reduce("sum", [k], powers[i, k]))
    y = compute("y", (rows, columns), lambda i, j: powers[i, j] / total[i])
    return TensorProgram((x,), (y,), ())


def test_sizes_enter_as_logarithms() -> None:
    found = described(product(32, 48, 64))
    assert found["log_output_points"] == math.log2(1 + 32 * 48)
    assert found["log_reduction_points"] == math.log2(65)
    assert found["axis0_log_extent"] == math.log2(49)
    assert found["axis1_log_extent"] == math.log2(33)
    assert found["axis2_log_extent"] == 0


def test_bytes_are_told_relative_to_the_caches() -> None:
    found = described(product(32, 48, 64))
    assert found["log_written_by_cache"] == math.log2(32 * 48 * 4 / SERVER.memories[1].bytes)
    larger = with_sizes(SERVER, [2 * size for size in SIZES])
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


def test_the_second_heaviest_nest_is_described_in_short() -> None:
    alone, both = described(product(64, 64, 64)), described(product(8, 16, 8), product(64, 64, 64))
    assert alone["second_share"] == alone["second_vectors"] == 0
    assert 0 < both["second_share"] < 0.5
    assert both["second_vectors"] == 1


def test_blocks_of_rows_are_told_apart() -> None:
    direct = plan_program(shares(256, 128))
    few, many = (
        described_plan(direct.with_algorithm(name)) for name in (ROWS(block=4), ROWS(block=16))
    )
    assert described_plan(direct)["log_repeats"] == 0
    assert few["log_repeats"] == math.log2(1 + 256 / 4)
    assert many["log_repeats"] == math.log2(1 + 256 / 16)
    grown = many["log_near_by_first_cache"] - few["log_near_by_first_cache"]
    assert grown == pytest.approx(2.0)
    assert few["log_fixed_cycles"] > many["log_fixed_cycles"]


def test_registers_that_a_window_would_like_are_counted_beyond_what_there_is() -> None:
    plan = plan_program(window(64))
    step, row, whole = (described_plan(plan, unroll=unroll) for unroll in (1, 3, 9))
    assert step["wanted_by_registers"] < row["wanted_by_registers"] < whole["wanted_by_registers"]
    assert whole["operands_by_registers"] < 1


def test_threads_are_told_apart() -> None:
    one, many = described(product(256, 256, 256), threads=1), described(product(256, 256, 256))
    assert one["log_threads"] < many["log_threads"]
    assert one["imbalance"] == 1.0


@pytest.mark.parametrize(("blocks", "operands", "loads"), [(1, 3, 4 / 3), (3, 4, 8 / 9)])
def test_matrix_registers_are_counted_by_what_there_is_of_them(
    blocks: int, operands: int, loads: float
) -> None:
    """Both parts of one right operand are held beside the left one, of three only one part."""
    found = described_product((1, 1, 49, 64, 64), tile=(13, blocks, 16))
    assert found["accumulators_by_registers"] == blocks / BFLOAT16_PAIRS.registers
    assert found["operands_by_registers"] == operands / BFLOAT16_PAIRS.registers
    assert found["registers_over"] == 0
    assert found["loads_per_operation"] == pytest.approx(loads)
    assert all(math.isfinite(value) for value in found.values())


def test_rows_of_matrix_registers_that_are_computed_again_are_waste() -> None:
    full = described_product((1, 1, 48, 64, 64), tile=(16, 1, 16))
    some = described_product((1, 1, 49, 64, 64), tile=(13, 1, 16))
    assert (full["waste"], some["waste"]) == (1.0, pytest.approx(52 / 49))


def described_product(
    shape: tuple[int, int, int, int, int], tile: tuple[int, ...]
) -> dict[str, float]:
    """A convolution of 1x1 on matrix registers."""
    program = convolution_program(shape, kernel=(1, 1))
    plan = plan_program(program).with_algorithm(BF16X3())
    spaces = plan.spaces(replace(SERVER, intrinsics=INTRINSICS), 1)
    choices = [
        default_choice(space)
        if space.analysis.match is None
        else replace(default_choice(space), tile=tile)
        for space in spaces
    ]
    estimates = [space.estimate(choice) for space, choice in zip(spaces, choices, strict=True)]
    return dict(zip(FEATURE_NAMES, features(spaces, choices, estimates, 0.0), strict=True))


def test_everything_is_finite_even_for_a_single_element() -> None:
    scalar = input_tensor("x", (), "float32")
    found = described(compute("y", (), lambda: scalar[()] + 1.0))
    assert all(math.isfinite(value) for value in found.values())
