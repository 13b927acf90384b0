"""Gradients of taps: the sum over positions of what a tap has read, by transposed transforms."""

import random
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.winograd.adjoint import match_taps_adjoint
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.rewrites.winograd.stages import winograd_program
from relay_tune.schedule.rewrites.winograd.transforms import FILTERINGS, rows_of_result_adjoint
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, literal, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import (
    SERVER,
    error_of_any_schedule,
    feeds_and_result,
    relative_error,
    winograds,
)
from tests.schedule.offered import PLAIN_SUMS, algorithms
from tests.schedule.running import runnable_targets


def adjoint_program(
    batch: int,
    places: Sequence[int],
    channels: tuple[int, int],
    *,
    kernel: Sequence[int] = (3, 3),
    stride: int = 1,
    dilation: int = 1,
    turned: bool = False,
) -> TensorProgram:
    """The gradient of taps [.., c, o] from data and the gradient of results [n, places.., o].

    Where `turned`, it is stored with its outputs first and its taps last.
    """
    inputs, outputs = channels
    extents = [
        (count - 1) * stride + (taps - 1) * dilation + 1
        for count, taps in zip(places, kernel, strict=True)
    ]
    x = input_tensor("x", (batch, *extents, inputs), "float32")
    a = input_tensor("a", (batch, *places, outputs), "float32")
    n, summed = Axis("n", batch), [Axis(f"p{at}", count) for at, count in enumerate(places)]

    def element(*at):
        *taps, c, o = at
        read = [p * stride + tap * dilation for p, tap in zip(summed, taps, strict=True)]
        return reduce("sum", [n, *summed], x[(n, *read, c)] * a[(n, *summed, o)])

    y = compute("adjoint", (*kernel, inputs, outputs), element)
    if turned:
        shape = (outputs, inputs, *kernel)
        y = compute("turned", shape, lambda o, c, *taps, y=y: y[(*taps, c, o)])
    return TensorProgram((x, a), (y,), ())


CASES = {
    "odd sizes": ((3, (7, 10), (17, 13)), {}),
    "whole panels": ((2, (8, 8), (64, 96)), {}),
    "stride": ((2, (7, 6), (16, 20)), {"stride": 2}),
    "dilation": ((2, (9, 8), (16, 20)), {"dilation": 2}),
    "rows alone": ((2, (9, 5), (16, 16)), {"kernel": (3, 1)}),
    "a line": ((2, (21,), (16, 18)), {"kernel": (3,)}),
    "a volume": ((2, (3, 6, 5), (16, 16)), {"kernel": (3, 3, 3)}),
    "stored as OIHW": ((2, (8, 8), (20, 32)), {"turned": True}),
}
DOES_NOT_APPLY = {
    "five taps": ((2, (8, 8), (16, 16)), {"kernel": (5, 5)}),
    "one tap": ((2, (8, 8), (16, 16)), {"kernel": (1, 1)}),
    "few channels": ((2, (8, 8), (3, 16)), {}),
    "a stride and a dilation": ((2, (8, 8), (16, 16)), {"stride": 2, "dilation": 2}),
    "a single row": ((2, (1, 8), (16, 16)), {}),
}
ERRORS = {2: 2e-6, 4: 2e-5}


@cache
def program_of(case):
    """The same for all targets and tiles."""
    arguments, options = CASES[case]
    return adjoint_program(*arguments, **options)


@pytest.mark.parametrize("key", FILTERINGS)
def test_the_transform_of_results_is_transposed(key):
    filtering = FILTERINGS[key]
    rng = np.random.default_rng(0)
    result, product = (
        rng.standard_normal(filtering.outputs),
        rng.standard_normal(filtering.products),
    )

    def numbers(rows, values):
        found = rows([literal(value, "float64") for value in values])
        return np.array([float(scalar_value(each, {}, {})) for each in found])

    forward = result @ numbers(filtering.result, product)
    assert forward == pytest.approx(product @ numbers(rows_of_result_adjoint(filtering), result))


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("case", CASES)
def test_the_interpreter_agrees(case, tile):
    program = program_of(case)
    changed = winograd_program(program, tile)
    if changed is None:
        assert (tile, case) == (4, "stride")
        return
    feeds, expected = feeds_and_result(program)
    (found,) = evaluate(changed.outputs, feeds)
    assert np.abs(found - expected).max() <= ERRORS[tile] * np.abs(expected).max()


@pytest.mark.parametrize("target", runnable_targets(), ids=lambda each: each.cpu)
@pytest.mark.parametrize("case", CASES)
def test_native_code_agrees(case, target):
    program = program_of(case)
    tile = 2 if "stride" in CASES[case][1] else 4
    assert WINOGRAD(tile=tile) in algorithms(program)
    assert relative_error(program, WINOGRAD(tile=tile), target, 2) <= ERRORS[tile]


@pytest.mark.parametrize("seed", range(3))
def test_every_schedule_is_right(seed):
    rng = random.Random(seed)
    program = adjoint_program(2, (8, 6), (16, rng.choice([16, 21])), turned=rng.random() < 0.5)
    algorithm = WINOGRAD(tile=rng.choice([2, 4]))
    assert error_of_any_schedule(program, algorithm, rng, most_points=4) <= 2e-5


@pytest.mark.parametrize("case", DOES_NOT_APPLY)
def test_does_not_apply(case):
    arguments, options = DOES_NOT_APPLY[case]
    program = adjoint_program(*arguments, **options)
    assert set(algorithms(program)) <= PLAIN_SUMS
    assert winograd_program(program, 2) is None


def test_a_part_of_the_places_is_left_alone():
    x, a = (input_tensor(name, (2, 10, 10, 16), "float32") for name in "xa")
    n, h, w = Axis("n", 2), Axis("h", 8), Axis("w", 8)

    def element(kh, kw, c, o):
        return reduce("sum", [n, h, w], x[n, h + kh, w + kw, c] * a[n, h, w, o])

    assert match_taps_adjoint(compute("adjoint", (3, 3, 16, 16), element)) is None


def test_the_default_follows_the_work():
    for channels, pays in (((256, 256), True), ((16, 1), False)):
        plan = plan_program(adjoint_program(32, (8, 8), channels))
        chosen = plan.default_schedule(SERVER, 1).algorithm
        assert (chosen in winograds(plan.algorithms)) == pays
