"""Products whose factors are bfloat16 in memory are read as they lie, and rounded no more."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import ml_dtypes
import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.matrix_products.form import Form, stored_form
from relay_tune.schedule.rewrites.matrix_products.record import BF16_MATRICES, BF16X1, ONE_PART
from relay_tune.schedule.rewrites.matrix_products.stages import matrix_program, ways_to_gather
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Scalar, cast, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.tensor import Tensor, compute, input_tensor
from tests.schedule.rewrites.matrix_products.test_bytes import any_point
from tests.schedule.running import run_schedule

NARROW = "bfloat16"


def widened(tensor: Tensor) -> Tensor:
    """A tensor as float32."""
    if tensor.dtype == "float32":
        return tensor
    return compute(f"{tensor.name}_wide", tensor.shape, lambda *at: cast(tensor[at], "float32"))


def values(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers that bfloat16 has."""
    found = np.random.default_rng(len(shape)).standard_normal(shape).astype(ml_dtypes.bfloat16)
    return found.astype(numpy_dtype(dtype))


def rows(
    count: int, steps: int, columns: int, weights: str = "float32", constant: bool = True
) -> TensorProgram:
    """Rows times weights."""
    x, w = input_tensor("x", (count, steps), NARROW), input_tensor("w", (steps, columns), weights)
    k, left, right = Axis("k", steps), widened(x), widened(w)

    def element(i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [k], left[i, k] * right[k, j])

    y = compute("y", (count, columns), element)
    if constant:
        return TensorProgram((x,), (y,), ((w, values(w.shape, weights)),))
    return TensorProgram((x, w), (y,), ())


def image(channels: int, taps: int = 3, stride: int = 1) -> TensorProgram:
    """A convolution in NHWC."""
    x = input_tensor("x", (1, 9, 9, channels), NARROW)
    w = input_tensor("w", (taps, taps, channels, 32), "float32")
    kh, kw, c, wide = Axis("kh", taps), Axis("kw", taps), Axis("c", channels), widened(x)

    def element(n: Scalar, h: Scalar, v: Scalar, o: Scalar) -> Scalar:
        data = wide[n, h * stride + kh, v * stride + kw, c]
        return reduce("sum", [kh, kw, c], data * w[kh, kw, c, o])

    size = (9 - taps) // stride + 1
    y = compute("y", (1, size, size, 32), element)
    return TensorProgram((x,), (y,), ((w, values(w.shape, "float32")),))


PROGRAMS: dict[str, Callable[[], TensorProgram]] = {
    "rows": partial(rows, 20, 64, 32),
    "narrow weights": partial(rows, 20, 64, 32, NARROW),
    "odd sizes": partial(rows, 37, 45, 41),
    "odd sizes, narrow weights": partial(rows, 37, 45, 41, NARROW),
    "two inputs": partial(rows, 40, 64, 32, NARROW, constant=False),
    "3x3": partial(image, 32),
    "3x3, narrow registers": partial(image, 24),
    "few channels": partial(image, 3),
    "1x1, stride": partial(image, 64, 1, 2),
}


def feeds_of(program: TensorProgram) -> dict[Tensor, np.ndarray]:
    given = {each: values(each.shape, each.dtype) for each in program.inputs}
    return {**given, **program.constant_arrays()}


def expected(program: TensorProgram) -> np.ndarray:
    """The result of float32 sums."""
    return evaluate(program.outputs, feeds_of(program))[0]


def has_narrow_weights(program: TensorProgram) -> bool:
    """Whether both factors are bfloat16."""
    given = (*program.inputs, *(tensor for tensor, _ in program.constants))
    return all(each.dtype == NARROW for each in given)


def form_of(program: TensorProgram) -> Form:
    """Of products that round the weights, or neither factor."""
    return stored_form(BFLOAT16_PAIRS) if has_narrow_weights(program) else ONE_PART


def plans(program: TensorProgram) -> dict[bool, Plan]:
    """Those on matrix registers, by whether rows are copied to one buffer."""
    is_narrow = has_narrow_weights(program)
    plan = plan_program(program).with_accuracy(Accuracy.FAST if is_narrow else Accuracy.RELAXED)
    algorithm = BF16_MATRICES if is_narrow else BF16X1
    ways = ways_to_gather(program, form_of(program))
    found = {gathers: algorithm(gathered=gathers) for gathers in ways}
    assert set(found.values()) <= set(plan.algorithms)
    return {gathers: plan.with_algorithm(each) for gathers, each in found.items()}


@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_the_same_sums(name: str, gathers: bool) -> None:
    program = PROGRAMS[name]()
    changed = matrix_program(program, form_of(program), gathers)
    assert changed is not None
    (found,) = evaluate(changed.outputs, {**feeds_of(program), **changed.constant_arrays()})
    np.testing.assert_allclose(found, expected(program), rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(
    not any(each.pattern == BFLOAT16_PAIRS for each in native_target().intrinsics),
    reason="needs matrix registers of bfloat16",
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_code_of_any_schedule_computes_them(name: str) -> None:
    program, rng = PROGRAMS[name](), random.Random(0)
    for plan in plans(program).values():
        feeds = {**feeds_of(program), **plan.program.constant_arrays()}
        schedule = any_point(rng, plan, 2)
        (found,) = run_schedule(plan, schedule, native_target(), feeds, threads=2)
        np.testing.assert_allclose(found, expected(program), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "copies"),
    [
        ("rows", {False: []}),
        ("narrow weights", {False: []}),
        ("odd sizes", {False: ["parts"]}),
        ("two inputs", {False: ["groups"]}),
        ("3x3", {False: [], True: ["parts"]}),
        ("3x3, narrow registers", {False: [], True: ["parts"]}),
        ("1x1, stride", {False: [], True: ["parts"]}),
    ],
)
def test_data_are_read_where_they_lie_or_copied(name: str, copies: dict[bool, list[str]]) -> None:
    for gathers, plan in plans(PROGRAMS[name]()).items():
        made = [nest for nest in plan.nests if intrinsic_match(nest) is None]
        own = {nest.target.name for nest in made} & {"parts", "groups"}
        assert own == set(copies[gathers])
        assert any(intrinsic_match(nest) is not None for nest in plan.nests)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_rounds_is_not_offered_where_nothing_is_to_round(name: str) -> None:
    program = PROGRAMS[name]()
    offered = set(plan_program(program).with_accuracy(Accuracy.RELAXED).algorithms)
    rounding, storing = BF16X1() in offered, BF16_MATRICES() in offered
    assert (rounding, storing) == (not has_narrow_weights(program), has_narrow_weights(program))
