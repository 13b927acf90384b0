"""Registers that the steps of a sliding window want, and what it costs not to have them."""

from dataclasses import replace

import pytest

from relay_tune.codegen.target import parse_target
from relay_tune.schedule.cost.load_count import BodyLoads
from relay_tune.schedule.cost.register_use import operands_in_use, register_use
from relay_tune.schedule.cost.tile import tile_of
from relay_tune.schedule.space.default_choice import default_choice
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import core, with_sizes
from tests.schedule.nest_spaces import only_nest, space_of

MACHINE = parse_target("x86_64-linux-gnu:cascadelake").machine
ACCUMULATORS = 24
WINDOW = BodyLoads((12.0, 2.0), (12.0, 2.0), False, 6, 40.0, 40.0, live=20.0, slides=True, row=6.0)


def test_shared_values_that_are_read_again_for_nothing() -> None:
    _, _, spilled = operands_in_use(WINDOW, ACCUMULATORS, MACHINE)
    assert spilled == 0.0


def test_shared_values_that_instructions_take_from_registers_alone() -> None:
    kept, again, spilled = operands_in_use(
        replace(WINDOW, in_registers=True), ACCUMULATORS, MACHINE
    )
    assert kept == 32 - ACCUMULATORS - 1
    assert spilled == pytest.approx((20 - kept) / 6)
    assert again == pytest.approx(MACHINE.coefficients.reloads * spilled)


def test_copies_that_are_transposed_hold_a_piece_of_their_tile() -> None:
    narrow = with_sizes(core(32, 16), (32 << 10, 512 << 10, 32 << 20))
    x = input_tensor("x", (512, 512), "float32")
    space = space_of(only_nest(compute("t", x.shape, lambda i, j: x[j, i])), narrow, threads=1)
    chosen = default_choice(space)
    assert chosen.lanes == 8
    assert max(chosen.tile) == 16  # a whole line of what is read or stored
    wide = replace(chosen, tile=(16, 16))
    assert register_use(tile_of(space.analysis, wide, narrow)).accumulators == 32 // 4
    plain = space_of(only_nest(compute("c", x.shape, lambda i, j: x[i, j])), narrow, threads=1)
    straight = replace(default_choice(plain), tile=(128,), vector=0)
    assert register_use(tile_of(plain.analysis, straight, narrow)).accumulators == 16
