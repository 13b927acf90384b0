"""Products of bytes on matrix registers are the same sums as in int64, at the ends of ranges."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.machine.pattern import BYTE_MATRICES
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.intrinsics.match import IntrinsicMatch, intrinsic_match
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.form import stored_form
from relay_tune.schedule.rewrites.matrix_products.record import BYTE_PRODUCTS
from relay_tune.schedule.rewrites.matrix_products.stages import matrix_program
from relay_tune.schedule.schedule import Schedule, misfit
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Scalar, binary, cast, reduce, select
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Tensor, compute, input_tensor
from tests.schedule.integer_products import PROGRAMS as NARROW
from tests.schedule.integer_products import dense, extreme, feeds_of
from tests.schedule.machines import SERVER, TILES
from tests.schedule.random_choices import point_of_space
from tests.schedule.running import run_schedule

needs_registers = pytest.mark.skipif(
    not any(each.pattern in BYTE_MATRICES.values() for each in native_target().intrinsics),
    reason="needs matrix registers of bytes",
)


def image(
    channels: int,
    results: int = 32,
    *,
    taps: tuple[int, int] = (3, 3),
    data: str = "uint8",
    padding: int = 1,
    stride: int = 1,
) -> TensorProgram:
    """A convolution in NHWC whose results are bytes, of data with a border of sevens."""
    height, width = 6, 7
    x = input_tensor("x", (2, height, width, channels), data)
    w = input_tensor("w", (*taps, channels, results), "int8")
    kh, kw, c = Axis("kh", taps[0]), Axis("kw", taps[1]), Axis("c", channels)
    tall, wide = height + 2 * padding, width + 2 * padding

    def inside(n: Scalar, h: Scalar, v: Scalar, i: Scalar) -> Scalar:
        value: Scalar = x[n, h - padding, v - padding, i]
        for index, size in ((h, height), (v, width)):
            value = select(binary("lt", index, size + padding), value, 7)
            value = select(binary("ge", index, padding), value, 7)
        return value

    padded: Tensor = compute("padded", (2, tall, wide, channels), inside) if padding else x

    def element(n: Scalar, h: Scalar, v: Scalar, o: Scalar) -> Scalar:
        value = padded[n, h * stride + kh, v * stride + kw, c]
        return reduce("sum", [kh, kw, c], cast(value, "int32") * cast(w[kh, kw, c, o], "int32"))

    out = ((tall - taps[0]) // stride + 1, (wide - taps[1]) // stride + 1)
    y = compute("y", (2, *out, results), element)
    z = compute("z", y.shape, lambda *at: cast(binary("and", y[at], 255), "uint8"))
    return TensorProgram((x,), (z,), ((w, extreme(w.shape, w.dtype)),))


Make = Callable[[], TensorProgram]

PROGRAMS: dict[str, Make] = {
    **NARROW,
    "whole registers": partial(dense, 20, 128, 32),
    "more rows than registers": partial(dense, 150, 64, 48),
    "three narrow registers": partial(dense, 9, 144, 32, data="int8"),
    "one narrow register": partial(dense, 9, 24, 16),
    "rows that no register divides": partial(dense, 17, 147, 40),
    "columns that fill none": partial(dense, 17, 64, 24, weights="uint8"),
    "two inputs, columns apart": partial(
        dense, 40, 70, 33, constant=False, data="int8", weights="uint8", transposed=True
    ),
    "3x3": partial(image, 64),
    "3x3, narrow": partial(image, 24, 16, data="int8"),
    "3x3, stride": partial(image, 40, 24, stride=2),
    "1x1": partial(image, 96, taps=(1, 1), padding=0),
    "1x1, stride": partial(image, 32, taps=(1, 1), padding=0, stride=2),
    "few channels": partial(image, 3, taps=(5, 6)),
}

FORMS = tuple(map(stored_form, BYTE_MATRICES.values()))


def plans(program: TensorProgram) -> list[Plan]:
    """Those under products of bytes."""
    plan = plan_program(program).with_accuracy(Accuracy.EXACT)
    return [plan.with_algorithm(each) for each in plan.algorithms if is_of_bytes(each)]


def is_of_bytes(algorithm: AppliedAlgorithm) -> bool:
    return [each.algorithm for each in algorithm.rewrites] in [[each] for each in BYTE_PRODUCTS]


def matches(plan: Plan) -> list[IntrinsicMatch]:
    return [each for each in map(intrinsic_match, plan.nests) if each is not None]


def any_point(rng: random.Random, plan: Plan, threads: int) -> Schedule:
    """A point of a plan's space whose tiles fit."""
    choices = []
    for space in plan.spaces(TILES, threads):
        choice = point_of_space(rng, space)
        while misfit(choice, space.analysis.nest) is not None:
            choice = point_of_space(rng, space)
        choices.append(choice)
    return Schedule(tuple(choices), plan.algorithm)


@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_the_same_sums(name: str, gathers: bool) -> None:
    program = PROGRAMS[name]()
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, feeds)
    for form in FORMS:
        changed = matrix_program(program, form, gathers)
        if changed is not None:
            known = {**{t: feeds[t] for t in changed.inputs}, **changed.constant_arrays()}
            np.testing.assert_array_equal(evaluate(changed.outputs, known)[0], expected)


@needs_registers
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PROGRAMS)
def test_code_of_any_schedule_computes_them(name: str, seed: int) -> None:
    """Between pages that must not be read."""
    program, rng = PROGRAMS[name](), random.Random(seed)
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, feeds)
    for plan in plans(program):
        schedule = any_point(rng, plan, 2)
        known = {**feeds, **plan.program.constant_arrays()}
        (found,) = run_schedule(plan, schedule, native_target(), known, threads=2)
        np.testing.assert_array_equal(found, expected, err_msg=str(schedule.to_json()))


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("whole registers", 64),
        ("three narrow registers", 48),
        ("one narrow register", 24),
        ("rows that no register divides", 52),
        ("3x3", 64),
        ("3x3, narrow", 36),
        ("3x3, stride", 60),
        ("1x1", 48),
        ("few channels", 24),
    ],
)
def test_registers_are_as_narrow_as_rows_are(name: str, steps: int) -> None:
    plan, *_ = plans(PROGRAMS[name]())
    assert {match.register_steps for match in matches(plan)} == {steps}


@pytest.mark.parametrize(
    ("name", "blocks"),
    [("columns that fill none", [1, 1]), ("rows that no register divides", [1, 2]), ("1x1", [2])],
)
def test_the_last_columns_fill_a_register_with_zeros(name: str, blocks: list[int]) -> None:
    """24 columns are 16 and 8, 40 are 32 and 8; no sum is left to other instructions."""
    plan, *_ = plans(PROGRAMS[name]())
    found = [1 if each.block is None else each.block.extent for each in matches(plan)]
    assert sorted(found) == blocks
    assert len(found) == sum(nest.body is not None for nest in plan.nests)


def test_last_columns_of_two_inputs_stay() -> None:
    plan, *_ = plans(PROGRAMS["two inputs, columns apart"]())
    assert len(matches(plan)) == 1


@pytest.mark.parametrize("name", ["whole registers", "three narrow registers", "1x1", "3x3"])
def test_rows_that_registers_divide_are_read_where_they_lie(name: str) -> None:
    plan, *_ = plans(PROGRAMS[name]())
    (match,) = matches(plan)
    ((left, _),) = match.terms
    assert left.tensor.name == ("padded" if name == "3x3" else "x")


def test_they_need_an_instruction_for_the_signs() -> None:
    algorithms = [each() for each in BYTE_PRODUCTS]
    assert all(each.can_run(TILES) and not each.can_run(SERVER) for each in algorithms)
    found = {str(plan.algorithm) for plan in plans(dense(20, 64, 32, data="int8"))}
    assert found == {"matrices_s8s8"}
