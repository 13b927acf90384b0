"""What sliding windows read from the caches beyond L1."""

from __future__ import annotations

from dataclasses import replace

import pytest

from relay_tune.schedule.cost.cache_sets import reloaded_bytes
from relay_tune.schedule.cost.rows import outgrown_factor
from relay_tune.schedule.cost.tile import tile_of
from relay_tune.schedule.space.default_choice import default_choice
from relay_tune.schedule.space.space import NestSpace, nest_space
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER, with_rates
from tests.schedule.nest_spaces import depthwise, only_nest, space_of


def test_blocks_of_channels_keep_the_rows_of_windows_near():
    space = space_of(depthwise(192, 28), threads=1)
    channels = next(n for n, axis in enumerate(space.analysis.nest.axes) if axis.extent == 192)
    assert f"blocks{channels}" in space.names
    chosen = replace(default_choice(space), tile=(1, 14, 16), order=(0, 1, 2), unroll=9)
    costs = [
        space.estimate(replace(chosen, blocks=(1, 1, count))).memory_cycles for count in (1, 3)
    ]
    assert costs[1] < costs[0]


def test_sums_over_rows_from_afar_read_rows_whole():
    def summed(rows: int, columns: int) -> NestSpace:
        x, k = input_tensor("x", (rows, columns), "float32"), Axis("k", rows)
        return space_of(
            only_nest(compute("s", (columns,), lambda i: reduce("sum", [k], x[k, i]))), threads=1
        )

    assert default_choice(summed(1 << 16, 256)).tile == (256,)
    space = summed(1 << 16, 64)
    costs = [space.estimate(replace(default_choice(space), tile=(n,))).cycles for n in (16, 64)]
    assert costs[0] > 2 * costs[1]
    near = summed(1 << 8, 64)
    choices = [replace(default_choice(near), tile=(n,)) for n in (16, 64)]
    costs = [near.estimate(choice).memory_cycles for choice in choices]
    assert costs[0] < 2 * costs[1]


def test_windows_from_afar_walk_along_rows():
    space = space_of(depthwise(32, 224), threads=1)
    chosen = replace(default_choice(space), tile=(4, 2, 16), blocks=(1, 1, 1), unroll=9)
    costs = [
        space.estimate(replace(chosen, order=order)).memory_cycles
        for order in ((0, 1, 2), (1, 0, 2))
    ]
    assert costs[0] < costs[1]


def test_rows_of_windows_that_share_places_of_the_cache_are_read_once():
    def reread(channels: int, unroll: int) -> float:
        space = space_of(depthwise(channels, 7, stride=2), threads=1)
        chosen = replace(default_choice(space), tile=(4, 7, 16), unroll=unroll)
        return reloaded_bytes(tile_of(space.analysis, chosen, space.machine))

    assert reread(576, 1) > 2 * reread(592, 1)
    assert reread(576, 9) == 0
    assert default_choice(space_of(depthwise(576, 7, stride=2), threads=1)).unroll == 9


def test_small_tiles_are_found_where_only_blocks_make_them_good():
    space = space_of(depthwise(480, 14), threads=1)
    chosen = default_choice(space)
    assert chosen.blocks[2] > 1
    whole = replace(chosen, tile=(2, 14, 16), blocks=(1, 1, 1), unroll=1)
    assert space.estimate(chosen).cycles < space.estimate(whole).cycles


def test_tall_tiles_of_windows_are_slow_from_afar():
    space = space_of(depthwise(32, 112), threads=1)
    chosen = replace(default_choice(space), order=(0, 1, 2), blocks=(1, 1, 1), unroll=9)
    costs = [
        space.estimate(replace(chosen, tile=tile)).cycles for tile in ((4, 4, 16), (28, 1, 16))
    ]
    assert costs[0] < costs[1]


def test_reading_rows_of_windows_again_costs_more_where_the_third_cache_is_fast():
    """Slow transfers hide it."""

    def extra(third: float) -> float:
        machine = with_rates(SERVER, (128.0, 45.0, third, 8.0))
        space = nest_space(depthwise(144, 56), frozenset(), machine, 1)
        chosen = replace(default_choice(space), order=(0, 1, 2), blocks=(1, 1, 1), unroll=9)
        flat, tall = (
            space.estimate(replace(chosen, tile=tile)).memory_cycles
            for tile in ((2, 6, 16), (6, 2, 16))
        )
        return flat - tall

    assert extra(32.0) > 1.5 * extra(8.0)


def test_tall_tiles_of_windows_are_found_with_rows_as_the_innermost_loop():
    machine = with_rates(SERVER, (128.0, 45.0, 32.0, 8.0))
    chosen = default_choice(nest_space(depthwise(144, 56), frozenset(), machine, 1))
    assert chosen.tile[0] > chosen.tile[1]
    assert chosen.reduction_order == (1, 0)


def test_what_windows_share_comes_from_where_it_was_read_before():
    """Rows that the tile above has read are near, however far the whole image is."""
    space = space_of(depthwise(32, 448), threads=1)
    chosen = replace(default_choice(space), order=(0, 1, 2), blocks=(1, 1, 1), unroll=9)
    one, four = (
        space.estimate(replace(chosen, tile=tile)).memory_cycles
        for tile in ((1, 4, 16), (4, 4, 16))
    )
    assert one < 1.5 * four


def test_short_runs_of_written_out_windows_are_not_slowed():
    assert outgrown_factor(1 << 13, 1 << 19, False, SERVER) == 1


def test_long_runs_and_loops_over_a_window_are_slowed_but_not_from_afar():
    second = SERVER.memories[1].bytes
    long = outgrown_factor(1 << 17, second // 2, False, SERVER)
    rolled = outgrown_factor(1 << 13, second // 2, True, SERVER)
    assert long > 1 and rolled > 1
    assert outgrown_factor(1 << 17, second // 2, True, SERVER) > max(long, rolled)
    assert 1 < outgrown_factor(1 << 17, 3 * second // 2, False, SERVER) < long
    assert outgrown_factor(1 << 17, 2 * second, True, SERVER) == 1


@pytest.mark.parametrize("channels", [480, 560, 576])
def test_windows_in_the_second_cache_run_in_blocks_of_channels_and_are_written_out(channels: int):
    space = nest_space(depthwise(channels, 7, stride=2), frozenset(), SERVER, 1)
    chosen = default_choice(space)
    assert chosen.blocks[2] > 1 and chosen.unroll == 9
    for other in (replace(chosen, blocks=(1, 1, 1)), replace(chosen, unroll=3)):
        assert space.estimate(chosen).memory_cycles < space.estimate(other).memory_cycles
