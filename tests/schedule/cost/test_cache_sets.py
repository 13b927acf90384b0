"""Tiles whose steps want more lines of one set of L1 than it has room for."""

from dataclasses import replace

import pytest

from relay_tune.machine.machine import Machine
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.cache_sets import (
    crowded_bytes,
    jumps,
    refetched_bytes,
    reloaded_bytes,
)
from relay_tune.schedule.cost.tile import Tile, tile_of
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.matrix_products.record import BF16X1
from relay_tune.schedule.space.space import NestSpace
from tests.schedule.grouped_convolutions import Grouped
from tests.schedule.machines import SERVER, SIZES, TILES, core, with_sizes
from tests.schedule.nest_spaces import depthwise, space_of
from tests.schedule.products import dense
from tests.schedule.rewrites.matrix_products.test_long_sums import product_gradient

CHANNEL_LAST, COLUMN_LAST, ROW_LAST = (0, 1, 2), (0, 2, 1), (1, 2, 0)
"""Orders of tap rows, tap columns and channels."""

FEW_REGISTERS = core(32, 16)


def grouped(channels: int, stride: int = 2) -> NestSpace:
    """14x14 results of groups of 16 channels."""
    shape = Grouped(channels // 16, 16, 16, 14, stride=stride)
    (space,) = plan_program(shape.program()).spaces(SERVER, 1)
    return space


def crowded(
    space: NestSpace,
    tile: tuple[int, ...],
    order: tuple[int, ...] = CHANNEL_LAST,
    machine: Machine = SERVER,
) -> float:
    choice = TileChoice(
        vector=len(tile) - 1,
        lanes=16,
        tile=tile,
        order=tuple(range(len(tile))),
        blocks=(1,) * len(tile),
        reduction_order=order,
        unroll=4,
        parallel=0,
    )
    return crowded_bytes(tile_of(space.analysis, choice, machine))


def reloaded(channels: int, tile: tuple[int, int, int]) -> float:
    """Of a depthwise convolution of 32 columns, steps along a row of taps written out."""
    space = space_of(depthwise(channels, 30), SERVER, threads=1)
    choice = TileChoice(2, 16, tile, (0, 1, 2), (1, 1, 1), (0, 1), 3, 0)
    return reloaded_bytes(tile_of(space.analysis, choice, SERVER))


def test_rows_of_a_window_that_are_pages_apart_push_each_other_out():
    tall, wide = (24, 1, 16), (1, 24, 16)
    assert reloaded(96, tall) > 0  # rows of 3 pages
    assert reloaded(96, wide) == 0
    assert reloaded(104, tall) == 0  # other sets for each row
    assert reloaded(96, (12, 1, 16)) == 0  # as many as there is room for


def test_points_that_are_a_page_apart_push_each_other_out():
    assert crowded(grouped(512), (1, 14, 1, 16)) > 0
    assert crowded(grouped(528), (1, 14, 1, 16)) == 0
    assert crowded(grouped(512, stride=1), (1, 14, 1, 16)) < crowded(grouped(512), (1, 14, 1, 16))


@pytest.mark.parametrize("overfull", [0.5, 1.0])
def test_sets_that_overflow_at_once_cost_no_less(overfull: float):
    known = SERVER.coefficients
    at_once = known.changed({"overfull_set": overfull * known.full_set})
    machine = replace(SERVER, coefficients=at_once)
    space = grouped(512)
    for rows in (1, 2, 14):
        tile = (rows, 14, 1, 16)
        assert crowded(space, tile, machine=machine) >= crowded(space, tile)


def test_few_points_find_room_and_each_more_of_too_many_costs_more():
    space = grouped(512)
    few, some, many = (crowded(space, (rows, 14, 1, 16)) for rows in (1, 2, 14))
    assert 0 < few < some < many
    assert crowded(space, (1, 7, 1, 16)) < few / 2


def test_groups_lie_in_other_places():
    space = grouped(512)
    assert crowded(space, (1, 7, 2, 16)) < crowded(space, (1, 14, 1, 16)) / 2


def test_what_the_loops_inside_of_the_channels_read_counts_too():
    space = grouped(512)
    rows, columns = (crowded(space, (7, 1, 1, 16), order) for order in (ROW_LAST, COLUMN_LAST))
    assert rows < columns


def test_a_larger_cache_has_more_room():
    space = grouped(512)
    twice = with_sizes(SERVER, (64 << 10, *SIZES[1:]))
    assert crowded(space, (1, 14, 1, 16), machine=twice) < crowded(space, (1, 14, 1, 16)) / 2


def test_vectors_that_are_read_whole_are_charged_elsewhere():
    space = space_of(depthwise(512, 14), threads=1)
    assert crowded(space, (1, 14, 16), (0, 1)) == 0


def test_rows_of_matrix_registers_are_lines_that_are_loaded_once():
    program = dense(16, 2048, 32)  # rows of bfloat16 lie a page apart
    plan = plan_program(program).with_accuracy(Accuracy.RELAXED).with_algorithm(BF16X1())
    position = next(n for n, nest in enumerate(plan.nests) if intrinsic_match(nest) is not None)
    space = plan.spaces(TILES, 1)[position]
    choice = TileChoice(2, 16, (16, 1, 16), (0, 1, 2), (1, 1, 1), (0, 1, 2), 1, 0)
    assert crowded_bytes(tile_of(space.analysis, choice, TILES)) == 0


def strided_sums(steps: int, columns: int, machine: Machine = FEW_REGISTERS) -> Tile:
    """Tiles of 6x16 of the products of two matrices whose rows are the steps of a sum."""
    program = product_gradient(steps, columns, columns)
    *_, space = plan_program(program).spaces(machine, 1)
    nest = space.analysis.nest
    tile = tuple({0: 6, len(nest.axes) - 1: 16}.get(n, 1) for n in range(len(nest.axes)))
    positions = tuple(range(len(tile)))
    choice = TileChoice(positions[-1], 8, tile, positions, (1,) * len(tile), (0,), 8, 0)
    return tile_of(space.analysis, choice, machine)


@pytest.mark.parametrize(
    ("steps", "columns", "missed"),
    [(64, 64, (0, 0)), (256, 64, (1, 1)), (64, 256, (1, 0)), (1024, 32, (1, 1))],
    ids=["few rows", "many rows", "long rows, and panels of 64", "too many"],
)
def test_columns_of_rows_that_share_places_are_fetched_by_each_tile(steps, columns, missed):
    tile = strided_sums(steps, columns)
    assert jumps(tile)
    accesses = tile.analysis.body_accesses
    for access, share, lines in zip(accesses, missed, (1 + 20 / 64, 1), strict=True):
        expected = share * tile.count * steps * lines * 64
        assert refetched_bytes(access, tile) == pytest.approx(expected)


def test_large_tiles_do_enough_with_a_line():
    assert not jumps(strided_sums(256, 64, SERVER))
    (space,) = plan_program(dense(64, 256, 64)).spaces(FEW_REGISTERS, 1)
    choice = TileChoice(1, 8, (6, 16), (0, 1), (1, 1), (0,), 8, 0)
    assert not jumps(tile_of(space.analysis, choice, FEW_REGISTERS))  # rows lie along the sum
