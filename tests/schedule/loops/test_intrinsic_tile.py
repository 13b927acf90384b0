"""Tiles on matrix registers: the statements that they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from relay_tune.ir.dim import Symbol
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.loops.prefetch.right_operands import Progress, first_round
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Axis, Scalar, reduce
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.loops.matrix_products import (
    assert_near,
    inputs_and_result,
    interpreted,
    matrix_index,
    native,
    needs_registers,
)
from tests.schedule.machines import TILES
from tests.schedule.products import dense

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
    position = matrix_index(plan)
    _, schedule = plan.default_under_algorithm(TILES, 1)
    rank = len(tile)
    choice = replace(
        schedule.choices[position],
        tile=tile,
        order=tuple(range(rank)),
        blocks=(1,) * rank,
        parallel=parallel,
    )
    choices = (*schedule.choices[:position], choice, *schedule.choices[position + 1 :])
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


def taps(height: int, width: int) -> TensorProgram:
    """16 channels of an image, each pixel a sum over three neighbours of 64 channels."""
    x = input_tensor("x", (height, width + 2, 64), "float32")
    w = input_tensor("w", (3, 64, 16), "float32")

    def element(i: Scalar, j: Scalar, o: Scalar) -> Scalar:
        t, k = Axis("t", 3), Axis("k", 64)
        return reduce("sum", [t, k], x[i, j + t, k] * w[t, k, o])

    data = np.random.default_rng(0).standard_normal(w.shape).astype(np.float32)
    return TensorProgram((x,), (compute("y", (height, width, 16), element),), ((w, data),))


def test_tiles_of_an_open_number_of_lines_end_beside_products_too() -> None:
    program = taps(symbolic_size(Symbol("h"), 9), symbolic_size(Symbol("w"), 48))
    plan, schedule = in_tiles(program, (1, 32, 16), parallel=2)
    text = kernel_text(apply_schedule(plan, schedule).kernels[-1])
    assert text.count("if tile > begin") == text.count("if tile + 1 >= end") == 4


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
    program = dense(45, 44, 48)
    feeds, expected = inputs_and_result(program)
    plan, schedule = in_tiles(program, tile, parallel)
    text = kernel_text(apply_schedule(plan, schedule).kernels[-1])
    assert ("tile > begin" if parallel else "tile > 0") in text
    assert_near(interpreted(plan, schedule, feeds), expected, BF16X3(), schedule)
    for threads in (1, 2, 40):
        assert_near(native(plan, schedule, feeds, threads), expected, BF16X3(), schedule)
