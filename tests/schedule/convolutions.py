"""Convolutions as tensor programs, and how far an algorithm for them is from numpy."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import numpy as np

from relay_tune.codegen.target import Target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.winograd.phase import Phase
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD, Tiles
from relay_tune.schedule.rewrites.winograd.transforms import PlaneFiltering, plane_filtering
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    binary,
    reduce,
    select,
    unary,
)
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import nominal
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER
from tests.schedule.offered import plan_of
from tests.schedule.random_choices import SMALL_TILE, any_choice
from tests.schedule.running import run_schedule, runnable_targets

EPILOGUES = ("none", "bias and relu", "residual", "pad", "sigmoid times itself")


def some_of(algorithms: Sequence[AppliedAlgorithm], turn: int) -> Sequence[AppliedAlgorithm]:
    """A third of the Winograd convolutions among some algorithms; three turns in a row see all.

    Tests of several kinds of programs give each another turn: each kind meets each algorithm
    somewhere, at a third of the cost of all pairs.
    """
    found = winograds(algorithms)
    assert found
    return found[turn % 3 :: 3] or found[:1]


POOLINGS = (
    "largest by two",
    "average by two",
    "relu, largest, pad",
    "largest by three",
)


def convolution_program(
    shape: tuple[int, int, int, int, int],
    *,
    kernel: tuple[int, int] = (3, 3),
    stride: int = 1,
    dilation: int = 1,
    dtype: str = "float32",
    constant: bool = True,
    layout: str = "HWIO",
    epilogue: str = "none",
) -> TensorProgram:
    """A convolution of (batch, rows, columns, inputs, outputs), its data padded beforehand."""
    batch, rows, columns, inputs, outputs = shape
    reach = [(k - 1) * dilation for k in kernel]
    extents = ((rows - 1) * stride + reach[0] + 1, (columns - 1) * stride + reach[1] + 1)
    sizes = dict(zip("HWIO", (*kernel, inputs, outputs), strict=True))
    rng = np.random.default_rng(nominal(sum(shape)))
    x = input_tensor("x", (batch, *extents, inputs), dtype)
    g = input_tensor("g", [sizes[letter] for letter in layout], dtype)
    kh, kw, c = Axis("kh", kernel[0]), Axis("kw", kernel[1]), Axis("c", inputs)

    def element(n: Scalar, h: Scalar, w: Scalar, o: Scalar) -> Scalar:
        tap = dict(zip("HWIO", (kh, kw, c, o), strict=True))
        value = x[n, h * stride + kh * dilation, w * stride + kw * dilation, c]
        return reduce("sum", [c, kh, kw], value * g[tuple(tap[letter] for letter in layout)])

    y: Tensor = compute("convolution", (batch, rows, columns, outputs), element)
    inputs_ = [x]
    if epilogue == "residual":
        inputs_.append(input_tensor("residual", y.shape, dtype))
    y = with_epilogue(y, epilogue, inputs_[-1])
    taps = rng.standard_normal(g.shape).astype(dtype)
    if not constant:
        return TensorProgram((*inputs_, g), (y,), ())
    return TensorProgram(tuple(inputs_), (y,), ((g, taps),))


def with_epilogue(y: Tensor, epilogue: str, other: Tensor) -> Tensor:
    match epilogue:
        case "bias and relu":
            return compute("relu", y.shape, lambda *i: binary("max", y[i] + 0.5, 0.0))
        case "residual":
            return compute("add", y.shape, lambda *i: y[i] + other[i])
        case "sigmoid times itself":
            return compute("swish", y.shape, lambda *i: y[i] * unary("sigmoid", y[i]))
        case "pad":
            n, h, w, o = y.shape
            return compute("pad", (n, h + 2, w + 3, o), lambda *i: _padded(y, *i))
        case "largest by two":
            return pooled(y, "max", 2)
        case "average by two":
            total = pooled(y, "sum", 2)
            return compute("average", total.shape, lambda *i: total[i] * 0.25)
        case "relu, largest, pad":
            largest = pooled(with_epilogue(y, "bias and relu", other), "max", 2)
            return with_epilogue(largest, "pad", other)
        case "largest by three":
            return pooled(y, "max", 3)
    return y


def pooled(y: Tensor, operation: str, size: int) -> Tensor:
    """Windows of `size` x `size` side by side, reduced."""
    kh, kw = Axis("kh", size), Axis("kw", size)
    n, h, w, o = y.shape

    def element(n: Scalar, i: Scalar, j: Scalar, o: Scalar) -> Scalar:
        return reduce(operation, [kh, kw], y[n, i * size + kh, j * size + kw, o])

    return compute("pool", (n, h // size, w // size, o), element)


def _padded(y: Tensor, n: Scalar, h: Scalar, w: Scalar, o: Scalar) -> Scalar:
    bounds = [binary("ge", h, 1), binary("lt", h, y.shape[1] + 1)]
    bounds += [binary("ge", w, 2), binary("lt", w, y.shape[2] + 2)]
    inside = bounds[0]
    for bound in bounds[1:]:
        inside = binary("and", inside, bound)
    return select(inside, y[n, h - 1, w - 2, o], 0.0)


def feeds_of(program: TensorProgram, seed: int = 0) -> dict[Tensor, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {x: rng.standard_normal(x.shape).astype(x.dtype) for x in program.inputs}


@lru_cache(maxsize=4)
def feeds_and_result(program: TensorProgram) -> tuple[dict[Tensor, np.ndarray], np.ndarray]:
    """Random inputs and numpy's result, found once for all algorithms of a program."""
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    return feeds, expected


def relative_error(
    program: TensorProgram, algorithm: AppliedAlgorithm, target: Target, threads: int
) -> float:
    """The largest difference between an algorithm's code and numpy, relative to the largest.

    The schedule is the default one for the target: tiles for more registers would be long code.
    """
    feeds, expected = feeds_and_result(program)
    plan = plan_of(program).with_algorithm(algorithm)
    _, schedule = plan.default_under_algorithm(machine_of(target), threads)
    constants = plan.program.constant_arrays()
    (found,) = run_schedule(plan, schedule, target, {**feeds, **constants}, threads=threads)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def error_of_any_schedule(
    program: TensorProgram,
    algorithm: AppliedAlgorithm,
    rng: random.Random,
    most_points: int = SMALL_TILE,
) -> float:
    """The same of a random schedule, on a random target."""
    plan = plan_of(program).with_algorithm(algorithm)
    choices = tuple(any_choice(rng, nest, most_points) for nest in plan.nests)
    schedule = Schedule(choices, plan.algorithm)
    feeds, expected = feeds_and_result(program)
    constants = plan.program.constant_arrays()
    target = rng.choice(runnable_targets())
    (found,) = run_schedule(plan, schedule, target, {**feeds, **constants}, threads=2)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def plan_schedule(plan: Plan) -> Schedule:
    """The default schedule of a plan under its own algorithm."""
    return plan.default_under_algorithm(SERVER, 2)[1]


TILES = {WINOGRAD(tile=2): 2, WINOGRAD(tile=4): 4}
"""Winograd convolutions in one block, and the extent of their tiles."""


def filtering_of(tile: int, stride: int, taps: tuple[int, int]) -> PlaneFiltering:
    """The transforms for so many taps of the rows and of the columns."""
    rows, columns = ((Phase(count),) for count in taps)
    found = plane_filtering(tile, stride, (rows, columns))
    assert found is not None
    return found


def winograds(algorithms: Sequence[AppliedAlgorithm]) -> list[AppliedAlgorithm]:
    """Those of some algorithms that are Winograd convolutions, in whatever blocks."""
    return [each for each in algorithms if [r.algorithm for r in each.rewrites] == [WINOGRAD]]


def tolerance_of(algorithm: AppliedAlgorithm) -> float:
    """The largest error of a Winograd convolution, relative to the largest result."""
    (rewrite,) = algorithm.rewrites
    return {2: 2e-6, 4: 2e-5}[cast(Tiles, rewrite.parameters).tile]
