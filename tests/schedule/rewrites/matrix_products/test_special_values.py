"""Infinities, NaN, and numbers near the ends of float32 in sums of bfloat16 products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X6
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.program import TensorProgram
from tests.schedule.convolutions import convolution_program, feeds_of
from tests.schedule.machines import TILES
from tests.schedule.products import dense
from tests.schedule.running import run_schedule

WAYS = (
    "expressions",
    pytest.param(
        "native",
        marks=pytest.mark.skipif(not native_target().intrinsics, reason="needs matrix registers"),
    ),
)


def result(
    program: TensorProgram, algorithm: AppliedAlgorithm, feeds: dict[Any, Any], way: str
) -> Any:
    """The result under an algorithm, as expressions say or as compiled code has it."""
    plan = plan_program(program, algorithm)
    known = {**feeds, **plan.program.constant_arrays()}
    with np.errstate(all="ignore"):
        if way == "expressions":
            return evaluate(plan.program.outputs, known)[0]
        _, schedule = plan.default_under_algorithm(TILES, 1)
        return run_schedule(plan, schedule, native_target(), known)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("algorithm", [BF16X3(), BF16X6()])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3.4e38])
def test_a_row_that_reads_no_such_number_is_not_touched(
    value: float, algorithm: AppliedAlgorithm, way: str
) -> None:
    program = dense(21, 40, 16)
    feeds = feeds_of(program)
    expected = result(program, algorithm, feeds, way)
    (x,) = program.inputs
    feeds[x][10, 5] = value
    found = result(program, algorithm, feeds, way)
    (direct,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    np.testing.assert_allclose(found[10], direct[10], 2e-5)
    others = np.arange(21) != 10
    np.testing.assert_array_equal(found[others], expected[others])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("algorithm", [BF16X3(), BF16X3(gathered=True), BF16X6()])
@pytest.mark.parametrize("channels", [3, 16, 32])
def test_windows_see_their_own_elements_only(
    channels: int, algorithm: AppliedAlgorithm, way: str
) -> None:
    """Three pixels of three channels are 9 of 32 steps, three of 32 channels fill registers."""
    program = convolution_program((1, 4, 6, channels, 16))
    assert spoilt(program, algorithm, way, at=(2, 4)) == windows_around(2, 4)


def spoilt(
    program: TensorProgram, algorithm: AppliedAlgorithm, way: str, at: tuple[int, int]
) -> set[tuple[int, int]]:
    """The indices of a 3x3 convolution's result that an infinity at an index of the data reaches.

    All others are as without it.
    """
    feeds = feeds_of(program)
    expected = result(program, algorithm, feeds, way)[0]
    feeds[program.inputs[0]][0, *at, 1] = np.inf
    found = result(program, algorithm, feeds, way)[0]
    bad = (~np.isfinite(found)).all(axis=-1)
    np.testing.assert_array_equal(found[~bad], expected[~bad])
    return {(int(line), int(column)) for line, column in np.argwhere(bad)}


def windows_around(line: int, column: int) -> set[tuple[int, int]]:
    """The positions whose 3x3 window holds one of the data, in a result of 4 lines of 6."""
    return {(h, w) for h in range(4) for w in range(6) if 0 <= line - h < 3 and 0 <= column - w < 3}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("algorithm", "bound"), [(BF16X3(), 1e-5), (BF16X6(), 1e-6)])
@pytest.mark.parametrize("scale", [2.0**-100, 1.0, 2.0**120])
def test_numbers_within_these_ends_are_as_exact_as_any(
    scale: float, algorithm: AppliedAlgorithm, bound: float, way: str
) -> None:
    program = convolution_program((1, 2, 6, 32, 16))
    feeds = feeds_of(program)
    (x,) = program.inputs
    feeds[x] *= np.float32(scale)
    found = result(program, algorithm, feeds, way)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    assert np.abs(found - expected).max() <= bound * np.abs(expected).max()


@pytest.mark.parametrize("way", WAYS)
def test_parts_that_are_subnormal_count_as_zero_at_most(way: str) -> None:
    """Below 2^-110 the smallest part is subnormal, below 2^-118 the second, too."""
    program = convolution_program((1, 2, 6, 32, 16))
    feeds = feeds_of(program)
    (x,) = program.inputs
    feeds[x] *= np.float32(2.0**-112)
    found = result(program, BF16X6(), feeds, way)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    assert np.abs(found - expected).max() <= 1e-4 * np.abs(expected).max()
