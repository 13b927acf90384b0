"""Tiles on matrix registers: every choice computes the product."""

from __future__ import annotations

import random

import pytest

from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X6
from relay_tune.schedule.schedule import Schedule, misfit
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Tensor, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute
from tests.schedule.comparing import difference
from tests.schedule.convolutions import EPILOGUES, POOLINGS, convolution_program
from tests.schedule.loops.matrix_products import (
    assert_near,
    inputs_and_result,
    interpreted,
    matrix_index,
    native,
    needs_registers,
)
from tests.schedule.machines import TILES
from tests.schedule.offered import MATRIX_PRODUCTS, matrix_products
from tests.schedule.products import batched, dense
from tests.schedule.random_choices import any_choice, point_of_space
from tests.schedule.random_draw import Draw
from tests.schedule.random_steps import STEPS
from tests.schedule.running import program_of


def point(rng: random.Random, plan: Plan, threads: int) -> Schedule:
    """A point of a plan's space, the tile of the product one that fits."""
    choices = []
    for space in plan.spaces(TILES, threads):
        choice = point_of_space(rng, space)
        while misfit(choice, space.analysis.nest) is not None:
            choice = point_of_space(rng, space)
        choices.append(choice)
    return Schedule(tuple(choices), plan.algorithm)


PROGRAMS: dict[str, TensorProgram] = {
    "21 rows": dense(21, 64, 32),
    "57 rows, 100 steps": dense(57, 100, 48),
    "4 rows": dense(4, 32, 64),
    "weights by columns": dense(18, 40, 32, transposed=True),
    "7x7": convolution_program((1, 7, 7, 32, 32), epilogue="bias and relu"),
    "three channels, stride": convolution_program((1, 5, 18, 3, 16), stride=2, kernel=(3, 4)),
    "dilation": convolution_program((2, 3, 9, 20, 16), dilation=2, epilogue="residual"),
    "1x1": convolution_program((1, 7, 3, 40, 32), kernel=(1, 1), epilogue="pad"),
    "two tensors": dense(37, 40, 32, constant=False),
    "a batch": batched(35, 40, 32),
    "taps of run time": convolution_program((1, 6, 7, 20, 32), constant=False),
    "pooling": convolution_program((1, 6, 8, 16, 16), epilogue="largest by two"),
    "40 channels": convolution_program((1, 5, 9, 16, 40), epilogue="pad"),
    "two inputs": dense(40, 50, 40, constant=False),
    "batch of columns": batched(33, 40, 16, transposed=True),
}


SMALL: dict[str, TensorProgram] = {
    "21 rows": dense(21, 16, 16),
    "17 rows in blocks": dense(17, 33, 32),
    "lines that overlap": convolution_program((1, 3, 4, 6, 16), kernel=(2, 3), epilogue="residual"),
    "1x1, padded": convolution_program((1, 2, 3, 20, 16), kernel=(1, 1), epilogue="pad"),
}


@pytest.mark.parametrize("algorithm", [BF16X3(), BF16X6()])
@pytest.mark.parametrize("case", SMALL)
def test_points_run_statement_by_statement(case: str, algorithm: AppliedAlgorithm) -> None:
    program = SMALL[case]
    feeds, expected = inputs_and_result(program)
    plan = plan_program(program, algorithm)
    schedule = point(random.Random(case), plan, 2)
    assert_near(interpreted(plan, schedule, feeds), expected, algorithm, schedule)


@needs_registers
@pytest.mark.parametrize("case", PROGRAMS)
def test_points_are_right_natively(case: str) -> None:
    program = PROGRAMS[case]
    feeds, expected = inputs_and_result(program)
    rng = random.Random(case)
    for algorithm in matrix_products(program):
        plan = plan_program(program, algorithm)
        for threads in (1, 2, 3):
            schedule = point(rng, plan, threads)
            found = native(plan, schedule, feeds, threads, at_end=rng.random() < 0.7)
            assert_near(found, expected, algorithm, schedule)


@needs_registers
@pytest.mark.parametrize("rows", [21, 49])
def test_every_point_of_a_small_space(rows: int) -> None:
    program = dense(rows, 40, 32)
    feeds, expected = inputs_and_result(program)
    plan = plan_program(program, BF16X3())
    index = matrix_index(plan)
    _, default = plan.default_under_algorithm(TILES, 2)
    space = plan.spaces(TILES, 2)[index]
    choices = {space.decode(chosen) for chosen in space.combinations()}
    fitting = [choice for choice in choices if space.is_sensible(choice)]
    assert len(fitting) >= 8
    for number, choice in enumerate(fitting):
        others = (*default.choices[:index], choice, *default.choices[index + 1 :])
        schedule = Schedule(others, BF16X3())
        found = native(plan, schedule, feeds, 2, at_end=number % 2 == 0)
        assert_near(found, expected, BF16X3(), schedule)


@needs_registers
@pytest.mark.parametrize("epilogue", [*EPILOGUES, *POOLINGS])
def test_epilogues_are_vectors_after_the_product(epilogue: str) -> None:
    program = convolution_program((1, 6, 7, 32, 32), epilogue=epilogue)
    feeds, expected = inputs_and_result(program)
    rng = random.Random(epilogue)
    for algorithm in (BF16X3(), BF16X6(gathered=True)):
        plan = plan_program(program, algorithm)
        schedule = point(rng, plan, 2)
        found = native(plan, schedule, feeds, 2)
        assert_near(found, expected, algorithm, schedule)


@needs_registers
@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_schedule_file_holds(seed: int) -> None:
    """Tiles that no space has, for the nest on matrix registers and for the others."""
    rng = random.Random(seed)
    shape = (rng.randint(1, 2), rng.randint(2, 9), rng.randint(2, 19), rng.choice([4, 9, 32]), 32)
    program = convolution_program(
        shape, kernel=(rng.randint(2, 3), rng.randint(2, 3)), stride=rng.randint(1, 2)
    )
    algorithm = rng.choice(list(MATRIX_PRODUCTS))
    plan = plan_program(program, algorithm)
    index = matrix_index(plan)
    schedule = Schedule(tuple(any_choice(rng, nest) for nest in plan.nests), algorithm)
    assert misfit(schedule.choices[index], plan.nests[index]) is None
    feeds, expected = inputs_and_result(program)
    threads = rng.choice([1, 2, 3])
    found = native(plan, schedule, feeds, threads, at_end=rng.random() < 0.7)
    assert_near(found, expected, algorithm, schedule)


@needs_registers
@pytest.mark.parametrize("seed", range(16))
def test_random_steps_follow_a_product(seed: int) -> None:
    check_random_steps(seed)


@needs_registers
@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(10, 14))
def test_campaign(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        check_random_steps(seed)


def check_random_steps(seed: int) -> None:
    """A product of small whole numbers, which is exact, with whatever becomes of it."""
    draw = Draw(random.Random(seed))
    rng = draw.rng
    rows, steps, columns = rng.randint(32, 60), rng.randint(16, 70), rng.choice([16, 32, 48])
    x = draw.input((rows, steps), "float32")
    w = draw.input((steps, columns), "float32", constant=True)
    k = Axis("k", steps)
    result: Tensor = compute(
        "product", (rows, columns), lambda i, j: reduce("sum", [k], x[i, k] * w[k, j])
    )
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        draw.exact = draw.exact and "16" not in result.dtype
        result = rng.choice(STEPS)(draw, result)
    program = program_of([result], draw.feeds, draw.constants)
    (expected,) = evaluate([result], draw.feeds)
    plan = plan_program(program, rng.choice(matrix_products(program)))
    schedule = Schedule(tuple(any_choice(rng, nest) for nest in plan.nests), plan.algorithm)
    found = native(plan, schedule, draw.feeds, rng.choice([1, 2, 3]), at_end=rng.random() < 0.7)
    coarse = any("16" in t.dtype for t in tensors_in_order([result]) if t.dtype != "int16")
    wrong = difference(found, expected, coarse=coarse)
    assert wrong is None, f"{wrong}; {schedule.to_json()}"
