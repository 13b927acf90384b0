"""Tiles on matrix registers: their statements, and that every choice computes the product."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.ir.dim import Symbol
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.loops.prefetch.right_operands import Progress, first_round
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X6
from relay_tune.schedule.schedule import Schedule, misfit
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Scalar, Tensor, reduce
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import compute
from tests.schedule.comparing import difference
from tests.schedule.convolutions import EPILOGUES, POOLINGS, convolution_program, feeds_of
from tests.schedule.machines import TILES
from tests.schedule.offered import MATRIX_PRODUCTS, matrix_products
from tests.schedule.products import batched, dense
from tests.schedule.random_choices import any_choice, point_of_space
from tests.schedule.random_draw import Draw
from tests.schedule.random_steps import STEPS
from tests.schedule.running import program_of, run_schedule

TOLERANCES = {1: 1e-2, 2: 1e-5, 3: 1e-6}
"""By the parts of each factor, as a share of the largest result."""

needs_registers = pytest.mark.skipif(
    not native_target().intrinsics, reason="needs matrix registers"
)


def matrix_index(plan: Plan) -> int:
    """The index of the only nest on matrix registers."""
    (index,) = (n for n, nest in enumerate(plan.nests) if intrinsic_match(nest) is not None)
    return index


def point(rng: random.Random, plan: Plan, threads: int) -> Schedule:
    """A point of a plan's space, the tile of the product one that fits."""
    choices = []
    for space in plan.spaces(TILES, threads):
        choice = point_of_space(rng, space)
        while misfit(choice, space.analysis.nest) is not None:
            choice = point_of_space(rng, space)
        choices.append(choice)
    return Schedule(tuple(choices), plan.algorithm)


def inputs_and_result(program: TensorProgram) -> tuple[dict[Tensor, Any], Any]:
    """Random inputs, and the program's result as it is written."""
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    return feeds, expected


def interpreted(plan: Plan, schedule: Schedule, feeds: dict[Tensor, Any]) -> Any:
    """The result of the kernels of a schedule, run statement by statement."""
    scheduled = apply_schedule(plan, schedule)
    arrays = {**feeds, **plan.program.constant_arrays()}
    for tensor in (*scheduled.workspace, *scheduled.program.outputs):
        arrays[tensor] = np.full(tensor.shape, np.nan, numpy_dtype(tensor.dtype))
    for kernel in scheduled.kernels:
        flat = {b: arrays[a] for a, b in zip(kernel.arguments, kernel.parameters, strict=True)}
        run_loops(kernel.body, {b: array.reshape(b.shape) for b, array in flat.items()})
    return arrays[scheduled.program.outputs[0]]


def native(
    plan: Plan, schedule: Schedule, feeds: dict[Tensor, Any], threads: int, at_end: bool = True
) -> Any:
    """The result of compiled code between guarded pages."""
    known = {**feeds, **plan.program.constant_arrays()}
    (found,) = run_schedule(plan, schedule, native_target(), known, threads=threads, at_end=at_end)
    return found


def assert_near(found: Any, expected: Any, algorithm: AppliedAlgorithm, schedule: Schedule) -> None:
    bound = TOLERANCES[MATRIX_PRODUCTS[algorithm][0]] * np.abs(expected).max()
    worst = np.abs(found - expected).max()
    assert worst <= bound, f"{worst} of {bound}: {schedule.to_json()}"


# Statements --------------------------------------------------------------------------------------


TWO_BY_TWO = [
    "kernel kernel_1(parts: bfloat16[2688], w_groups: bfloat16[4096], relu: float32[672])",
    "  matrix registers of 11, 11, 11, 11, 16, 16, 11, 11 rows",
    "  for i_t in 0 .. 1",
    "    for jo_t in 0 .. 1",
    "      for ji_t in 0 .. 1",
    "        local products: float32[22, 32]",
    "        m0 = 0",
    "        m1 = 0",
    "        m2 = 0",
    "        m3 = 0",
    "        for kb in 0 .. 2",
    # The smaller part of 21 rows: the second register begins in row 10, so as to end with them.
    "          m6 = parts[kb * 32 + i_t * 21 * 64 + 1344] in rows 64 apart",
    "          m7 = parts[kb * 32 + (i_t * 21 + 10) * 64 + 1344] in rows 64 apart",
    "          m4 = w_groups[kb * 1024 + jo_t * 2 * 2048] in rows 32 apart",
    "          m5 = w_groups[kb * 1024 + (jo_t * 2 + 1) * 2048] in rows 32 apart",
    "          m0 += m6 * m4",
    "          m1 += m6 * m5",
    "          m2 += m7 * m4",
    "          m3 += m7 * m5",
    # The larger part, by the same constants.
    "          m6 = parts[kb * 32 + i_t * 21 * 64] in rows 64 apart",
    "          m7 = parts[kb * 32 + (i_t * 21 + 10) * 64] in rows 64 apart",
    "          m0 += m6 * m4",
    "          m1 += m6 * m5",
    "          m2 += m7 * m4",
    "          m3 += m7 * m5",
    # The same data by the smaller part of the constants.
    "          m4 = w_groups[kb * 1024 + jo_t * 2 * 2048 + 512] in rows 32 apart",
    "          m5 = w_groups[kb * 1024 + (jo_t * 2 + 1) * 2048 + 512] in rows 32 apart",
    "          m0 += m6 * m4",
    "          m1 += m6 * m5",
    "          m2 += m7 * m4",
    "          m3 += m7 * m5",
    "        products[0, 0] in rows 32 apart = m0",
    "        products[0, 16] in rows 32 apart = m1",
    "        products[10, 0] in rows 32 apart = m2",
    "        products[10, 16] in rows 32 apart = m3",
    "        for i_i in 0 .. 21",
    "          vector ji_l in 0 .. 16",
    "            relu[jo_t * 2 * 16 + ji_l + (i_t * 21 + i_i) * 32]"
    " = max(products[i_i, ji_l] + 0.5, 0)",
    "          vector ji_l in 0 .. 16",
    "            relu[(jo_t * 2 + 1) * 16 + ji_l + (i_t * 21 + i_i) * 32]"
    " = max(products[i_i, ji_l + 16] + 0.5, 0)",
]
"""21 rows by 32 columns in two by two registers, which share a row: 64 steps of three products."""


def with_choice(
    program: TensorProgram, changed: Callable[[TileChoice], TileChoice]
) -> tuple[Plan, Schedule]:
    """The plan of a product from three parts, and its default schedule but for the tile."""
    plan = plan_program(program, BF16X3())
    index = matrix_index(plan)
    _, schedule = plan.default_under_algorithm(TILES, 1)
    choices = list(schedule.choices)
    choices[index] = changed(choices[index])
    return plan, Schedule(tuple(choices), BF16X3())


def text_of(plan: Plan, schedule: Schedule) -> str:
    """The statements of the kernel with the product."""
    return kernel_text(apply_schedule(plan, schedule).kernels[-1])


def test_a_tile_of_two_by_two_registers() -> None:
    choice = TileChoice(
        vector=2,
        lanes=16,
        tile=(21, 2, 16),
        order=(0, 1, 2),
        blocks=(1, 1, 1),
        reduction_order=(0, 1, 2),
        unroll=1,
        parallel=0,
    )
    plan, schedule = with_choice(dense(21, 64, 32), lambda _: choice)
    assert text_of(plan, schedule).splitlines() == TWO_BY_TWO


def test_left_operands_pass_by_right_ones_that_stay() -> None:
    """Three registers of rows by one of columns: a step loads each operand once."""
    plan, schedule = with_choice(
        dense(33, 32, 16),
        lambda own: replace(own, tile=(33, 16), blocks=(1, 1), parallel=0),
    )
    lines = [line.strip() for line in text_of(plan, schedule).splitlines()]
    loads = [line.split(" = ")[0] for line in lines if "in rows" in line and line[0] == "m"]
    assert loads == ["m3", "m4", "m5", "m6", "m7", "m5", "m6", "m7"]
    first = lines.index("m0 += m5 * m3")
    assert lines[first : first + 4][2:] == ["m0 += m6 * m3", "m0 += m6 * m4"]


def fetching(program: TensorProgram, tile_rows: int) -> tuple[Plan, Schedule]:
    """The plan and schedule of a product whose tiles fetch, blocks of columns outermost."""
    return with_choice(
        program,
        lambda own: replace(
            own,
            tile=(tile_rows, 1, 16),
            order=(1, 0, 2),
            blocks=(1, 1, 1),
            parallel=0,
            prefetch=True,
        ),
    )


@pytest.mark.parametrize(("tile_rows", "lines"), [(32, 32), (16, 16)])
def test_tiles_share_what_is_fetched_for_the_next_block(tile_rows: int, lines: int) -> None:
    """A step reads two parts of 16 lines; each tile of a block fetches its share of them."""
    text = text_of(*fetching(dense(32, 64, 48), tile_rows))
    fetched = [line for line in text.splitlines() if "prefetch" in line]
    assert len(fetched) == lines
    assert all("w_groups" in line for line in fetched)


@pytest.mark.parametrize(
    ("parallel", "limit"), [(0, "i_t < 1"), (1, "tile - begin < 3"), (2, "tile - begin < 3")]
)
def test_blocks_that_each_row_of_tiles_reads_are_fetched_once(parallel: int, limit: str) -> None:
    """With rows outermost, the first row of tiles asks for the three blocks, in each thread."""
    plan, schedule = fetching(dense(64, 64, 48), 32)
    index, choices = matrix_index(plan), list(schedule.choices)
    choices[index] = replace(choices[index], order=(0, 1, 2), parallel=parallel)
    lines = text_of(plan, replace(schedule, choices=tuple(choices))).splitlines()
    first = [before for before, line in pairwise(lines) if "prefetch" in line]
    branches = {line.strip() for line in first if "prefetch" not in line}
    assert branches == {f"if {limit}"}


def test_shared_blocks_are_counted_from_the_begin_of_a_thread() -> None:
    """Tiles with epilogues behind them; one thread of two begins at the second row of tiles."""
    plan, schedule = fetching(dense(64, 64, 48), 32)
    index = matrix_index(plan)
    nest = plan.nests[index]
    match = intrinsic_match(nest)
    assert match is not None
    choice = replace(schedule.choices[index], order=(0, 1, 2), parallel=1)
    outer = [Axis("i_t", 2), Axis("jo_t", 3)]
    done = Axis("done", 2)
    assert first_round(match, choice, outer, Progress(done, 1)) == ((done, 1),)
    assert first_round(match, choice, outer, Progress(done, 2)) == ((done, 3),)
    assert first_round(match, choice, outer, Progress(done, 0)) == ((outer[0], 1),)
    columns_first = replace(choice, order=(1, 0, 2))
    assert first_round(match, columns_first, outer[::-1], Progress(done, 1)) == ()


def test_blocks_that_do_not_stay_near_are_fetched_in_each_round() -> None:
    """Two parts of 1024 x 512 bfloat16 are 2 MB."""
    plan, schedule = fetching(dense(64, 1024, 512), 32)
    index = matrix_index(plan)
    match = intrinsic_match(plan.nests[index])
    assert match is not None
    choice = replace(schedule.choices[index], order=(0, 1, 2), parallel=1)
    outer = [Axis("i_t", 2), Axis("jo_t", 32)]
    assert first_round(match, choice, outer, Progress(Axis("done", 64), 2)) == ()


@needs_registers
def test_tiles_that_fetch_are_right() -> None:
    program = dense(32, 64, 48)
    feeds, expected = inputs_and_result(program)
    for tile_rows in (16, 32):
        plan, schedule = fetching(program, tile_rows)
        assert_near(native(plan, schedule, feeds, 1), expected, BF16X3(), schedule)


def test_rows_of_a_last_tile_are_computed_again() -> None:
    """Tiles of 11 rows over 21: the last one begins at 11, one row before it, and leaves that."""
    text = text_of(*with_choice(dense(21, 64, 16), lambda own: replace(own, tile=(11, 16))))
    edge = text[text.index("else") :]
    assert "parts[kb * 32 + 640] in rows 64 apart" in edge  # 640 = 10 rows of 64
    assert "products[0, 0] in rows 16 apart = m0" in edge
    assert "for i_i in 0 .. 10" in edge
    assert "products[i_i + 1, j_l]" in edge


def in_tiles(program: TensorProgram, tile: tuple[int, ...], parallel: int) -> tuple[Plan, Schedule]:
    """The plan and a schedule of a product with such tiles."""
    plan = plan_program(program, BF16X3())
    place = matrix_index(plan)
    _, schedule = plan.default_under_algorithm(TILES, 1)
    rank = len(tile)
    choice = replace(
        schedule.choices[place],
        tile=tile,
        order=tuple(range(rank)),
        blocks=(1,) * rank,
        parallel=parallel,
    )
    choices = (*schedule.choices[:place], choice, *schedule.choices[place + 1 :])
    return plan, Schedule(choices, BF16X3())


def test_a_tile_ends_beside_the_products_of_the_next() -> None:
    """Of 16 rows, four in each of four steps, between products; the last tile ends by itself."""
    plan, schedule = in_tiles(dense(48, 128, 16), (16, 16), parallel=1)
    kernel = apply_schedule(plan, schedule).kernels[-1]
    lines = [line.strip() for line in kernel_text(kernel).splitlines()]
    assert "parallel tile in 0 .. 3, a thread's share begin .. end" in lines
    products = [n for n, line in enumerate(lines) if line.startswith("m0 += ")]
    (beside,) = (n for n, line in enumerate(lines) if line == "if tile > begin")
    kept = lines.index("products[0, 0] in rows 16 apart = m0")
    (last,) = (n for n, line in enumerate(lines) if line == "if tile + 1 >= end")
    assert products[-1] < beside < kept < last
    assert lines[beside + 1 : beside + 3] == ["for i_i_n in 0 .. 4", "i_i = kb * 4 + i_i_n"]
    assert "i_t_b * 16" in lines[beside + 4]
    assert lines[last + 1] == "for i_i in 0 .. 16"
    assert "i_t * 16" in lines[last + 3]


def test_tiles_of_an_open_number_of_rows_end_beside_products_too() -> None:
    """Whole tiles, the registers behind them, and rows that do not fill one."""
    program = dense(symbolic_size(Symbol("n"), 48), 128, 16)
    plan, schedule = in_tiles(program, (32, 16), parallel=1)
    text = kernel_text(apply_schedule(plan, schedule).kernels[-1])
    assert text.count("if tile > begin") == text.count("if tile + 1 >= end") == 4
    assert "products: float32[48, 16]" in text  # 16 rows may be those of the tile before


@pytest.mark.parametrize(("steps", "beside"), [(96, False), (128, True)])
def test_longer_epilogues_follow_the_products_of_their_tile(steps: int, beside: bool) -> None:
    """20 operations beside a row of 9 or 12 products, in the time of each of which two run."""
    program = dense(48, steps, 16)
    (y,) = program.outputs

    def scaled(*at: Scalar) -> Scalar:
        value = y[at]
        for number in range(18):
            value = value * (2.0 + number)
        return value

    program = replace(program, outputs=(compute("scaled", y.shape, scaled),))
    plan, schedule = in_tiles(program, (16, 16), parallel=1)
    text = kernel_text(apply_schedule(plan, schedule).kernels[-1])
    assert ("if tile > begin" in text) == beside


@needs_registers
@pytest.mark.parametrize("parallel", [0, 2])
@pytest.mark.parametrize("tile", [(15, 1, 16), (30, 2, 16), (15, 3, 16)])
def test_tiles_of_any_share_of_a_thread_end(tile: tuple[int, ...], parallel: int) -> None:
    """Edges along rows and columns, threads with one tile or none, a last step of fewer rows."""
    program = dense(75, 44, 80)
    feeds, expected = inputs_and_result(program)
    plan, schedule = in_tiles(program, tile, parallel)
    text = kernel_text(apply_schedule(plan, schedule).kernels[-1])
    assert ("tile > begin" if parallel else "tile > 0") in text
    assert_near(interpreted(plan, schedule, feeds), expected, BF16X3(), schedule)
    for threads in (1, 2, 40):
        assert_near(native(plan, schedule, feeds, threads), expected, BF16X3(), schedule)


# Every choice ------------------------------------------------------------------------------------

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
