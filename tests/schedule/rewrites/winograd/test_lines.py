"""Winograd's filtering along one dimension: rows or columns of taps, and lines."""

import random

import numpy as np
import pytest

from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.winograd.match import match_convolution
from relay_tune.schedule.rewrites.winograd.stages import winograd_program
from relay_tune.schedule.rewrites.winograd.transforms import transformed_taps
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, binary, reduce, select
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import (
    SERVER,
    TILES,
    convolution_program,
    error_of_any_schedule,
    feeds_of,
    filtering_of,
    relative_error,
    some_of,
    tolerance_of,
    winograds,
)
from tests.schedule.offered import PLAIN_SUMS, algorithms
from tests.schedule.running import runnable_targets


def line_program(
    shape: tuple[int, int, int, int],
    *,
    taps: int = 3,
    stride: int = 1,
    dilation: int = 1,
    pad: int = 0,
) -> TensorProgram:
    """relu(convolution) of (batch, places, inputs, outputs), its data padded beforehand."""
    batch, positions, inputs, outputs = shape
    rng = np.random.default_rng(sum(shape))
    extent = (positions - 1) * stride + (taps - 1) * dilation + 1
    x = input_tensor("x", (batch, extent, inputs), "float32")
    g = input_tensor("g", (taps, inputs, outputs), "float32")
    k, c = Axis("k", taps), Axis("c", inputs)
    total = compute(
        "total",
        (batch, positions, outputs),
        lambda n, j, o: reduce("sum", [k, c], x[n, j * stride + k * dilation, c] * g[k, c, o]),
    )
    result = compute("relu", total.shape, lambda *at: binary("max", total[at], 0.0))
    if pad:
        inner = result
        wide = (batch, positions + pad, outputs)
        result = compute(
            "pad", wide, lambda n, j, o: select(binary("ge", j, pad), inner[n, j - pad, o], 0.0)
        )
    return TensorProgram((x,), (result,), ((g, rng.standard_normal(g.shape).astype("float32")),))


def test_a_line_is_an_image_of_one_column():
    program = line_program((2, 30, 16, 24), dilation=4)
    stages = tensors_in_order(program.outputs)
    (found,) = filter(None, (match_convolution(s) for s in stages))
    assert (found.dilations, found.stride, found.tap_counts) == ((4, 1), 1, (3, 1))
    assert found.image == (2, 30, 1)


@pytest.mark.parametrize(("kernel", "counts"), [((1, 3), (1, 3)), ((3, 1), (3, 1))])
def test_one_dimension_of_an_image_may_have_no_taps(kernel, counts):
    program = convolution_program((1, 8, 8, 16, 16), kernel=kernel)
    found = match_convolution(program.outputs[0])
    assert found is not None
    assert found.tap_counts == counts


LINES_THAT_STAY = {
    "a stride and a dilation": {"stride": 2, "dilation": 2},
    "stride 3": {"stride": 3},
    "five taps": {"taps": 5},
    "one tap": {"taps": 1},
}


@pytest.mark.parametrize("case", LINES_THAT_STAY)
def test_does_not_apply(case):
    program = line_program((1, 24, 16, 16), **LINES_THAT_STAY[case])
    assert set(algorithms(program)) <= PLAIN_SUMS


def test_only_the_dimension_with_taps_is_transformed():
    taps = np.random.default_rng(0).standard_normal((1, 3, 4, 5))
    filtering = filtering_of(4, 1, (1, 3))
    assert filtering is not None and filtering.products == 6
    found = transformed_taps(filtering, taps)
    assert np.allclose(found, np.einsum("xk,kcd->xcd", filtering.columns.taps, taps[0]))


LINES = {
    "plain": {},
    "stride": {"stride": 2},
    "two phases": {"dilation": 2},
    "many phases": {"dilation": 7},
    "padded": {"dilation": 3, "pad": 5},
}


@pytest.mark.parametrize("places", [3, 16, 37])
@pytest.mark.parametrize("line", LINES)
def test_the_interpreter_agrees(line, places):
    program = line_program((2, places, 16, 3), **LINES[line])
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    for algorithm, outputs in TILES.items():
        changed = winograd_program(program, outputs)
        if changed is not None:
            (found,) = evaluate(changed.outputs, {**feeds, **changed.constant_arrays()})
            assert (
                np.abs(found - expected).max() <= tolerance_of(algorithm) * np.abs(expected).max()
            )


@pytest.mark.parametrize(("turn", "length"), list(enumerate([50, 64, 77])))
@pytest.mark.parametrize("line", LINES)
def test_native_code_agrees(line, turn, length):
    program = line_program((1, length, 16, 24), **LINES[line])
    for name in some_of(algorithms(program), turn + list(LINES).index(line)):
        tolerance = tolerance_of(name)
        assert relative_error(program, name, runnable_targets()[0], 2) <= tolerance


@pytest.mark.parametrize(
    ("turn", "epilogue"), list(enumerate(["residual", "pad", "largest by two"]))
)
@pytest.mark.parametrize("kernel", [(1, 3), (3, 1)])
def test_native_code_of_rows_and_columns_agrees(kernel, turn, epilogue):
    program = convolution_program((2, 9, 12, 16, 20), kernel=kernel, epilogue=epilogue)
    for name in some_of(algorithms(program), turn + kernel[0] // 3):
        tolerance = tolerance_of(name)
        assert relative_error(program, name, runnable_targets()[0], 2) <= tolerance


@pytest.mark.parametrize("kernel", [(1, 3), (3, 1)])
def test_a_dimension_without_taps_has_no_stride(kernel):
    program = convolution_program((1, 9, 12, 17, 16), kernel=kernel, stride=2)
    assert set(algorithms(program)) <= PLAIN_SUMS


def test_taps_along_a_diagonal_stay():
    """One axis of taps for rows and columns together is neither a row nor a square of taps."""
    x = input_tensor("x", (1, 10, 10, 16), "float32")
    g = input_tensor("g", (3, 16, 16), "float32")
    k, c = Axis("k", 3), Axis("c", 16)
    total = compute(
        "total",
        (1, 8, 8, 16),
        lambda n, h, w, o: reduce("sum", [k, c], x[n, h + k, w + k, c] * g[k, c, o]),
    )
    program = TensorProgram((x,), (total,), ((g, np.ones(g.shape, "float32")),))
    assert set(algorithms(program)) <= PLAIN_SUMS


@pytest.mark.parametrize("seed", range(6))
def test_every_schedule_is_right(seed):
    rng = random.Random(seed)
    program = line_program((1, 48, 16, rng.choice([16, 21])), dilation=rng.choice([1, 4]))
    names = winograds(algorithms(program))
    assert error_of_any_schedule(program, rng.choice(names), rng) <= 2e-5


def test_the_default_follows_the_work():
    plan = plan_program(line_program((1, 1000, 64, 64), dilation=2))
    assert plan.default_schedule(SERVER, 1).algorithm in winograds(plan.algorithms)
    few = plan_program(line_program((1, 1000, 16, 1)))
    assert few.default_schedule(SERVER, 1).algorithm not in winograds(few.algorithms)
