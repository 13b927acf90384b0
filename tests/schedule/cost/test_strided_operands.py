"""Operands whose lanes lie apart: first layers of channels-first images with a stride."""

from dataclasses import replace

import pytest

from relay_tune.schedule.cost.register_use import register_use
from relay_tune.schedule.cost.tile import tile_of
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.space.default_choice import default_choice
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER
from tests.schedule.nest_spaces import only_nest, space_of

COLUMNS = 2


def first_layer(channels: int, size: int, kernel: int) -> Nest:
    """The nest of a convolution of 3 channels with stride 2, channels first."""
    x = input_tensor("x", (3, 2 * size + kernel, 2 * size + kernel), "float32")
    w = input_tensor("w", (channels, 3, kernel, kernel), "float32")
    taps = [Axis("c", 3), Axis("kh", kernel), Axis("kw", kernel)]
    c, kh, kw = taps
    return only_nest(
        compute(
            "y",
            (channels, size, size),
            lambda o, i, j: reduce("sum", taps, x[c, 2 * i + kh, 2 * j + kw] * w[o, c, kh, kw]),
        )
    )


def test_a_vector_that_several_loads_fill_is_one_register():
    space = space_of(first_layer(32, 112, 3), SERVER, threads=1)
    chosen = replace(default_choice(space), vector=COLUMNS, lanes=16, tile=(8, 3, 16), unroll=1)
    assert register_use(tile_of(space.analysis, chosen, SERVER)).registers == 24 + 3 + 1


def test_taps_that_share_such_vectors_fill_registers():
    space = space_of(first_layer(32, 112, 3), SERVER, threads=1)
    chosen = replace(
        default_choice(space), vector=COLUMNS, lanes=16, tile=(8, 3, 16), reduction_order=(0, 1, 2)
    )
    all_taps, one_tap = (
        space.estimate(replace(chosen, unroll=unroll)).compute_cycles for unroll in (9, 1)
    )
    assert all_taps > 1.1 * one_tap


@pytest.mark.parametrize(("channels", "kernel"), [(24, 3), (32, 3), (48, 3), (64, 7)])
def test_the_default_leaves_few_registers_idle_and_writes_out_few_taps(channels: int, kernel: int):
    space = space_of(first_layer(channels, 112, kernel), SERVER, threads=1)
    chosen = default_choice(space)
    estimate = space.estimate(chosen)
    assert chosen.unroll <= 3
    assert estimate.accumulators >= 24 and estimate.registers <= SERVER.vectors.registers
