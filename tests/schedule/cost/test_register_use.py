"""Registers that the steps of a sliding window want, and what it costs not to have them."""

from dataclasses import replace

import pytest

from relay_tune.codegen.target import parse_target
from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import PAIRS
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.analysis import analyse
from relay_tune.schedule.cost.load_count import BodyLoads
from relay_tune.schedule.cost.register_use import RegisterUse, operands_in_use, register_use
from relay_tune.schedule.cost.tile import tile_of
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.dot_products.record import DOT_PRODUCTS
from relay_tune.schedule.space.default_choice import default_choice
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.integer_products import dense
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


HASWELL = parse_target("x86_64-linux-gnu:haswell").machine


def in_pairs() -> Plan:
    """A product of bytes as one of pairs of int16."""
    (algorithm,) = (each for each in DOT_PRODUCTS if each.name == PAIRS.name)
    return plan_program(dense(128, 768, 96)).with_algorithm(algorithm())


def use_of(rows: int, columns: int, machine: Machine) -> RegisterUse:
    """What a tile of sums takes whose steps are written out eight times."""
    plan = in_pairs()
    choice = TileChoice(
        vector=1,
        lanes=8,
        tile=(rows, columns),
        order=(0, 1),
        blocks=(1, 1),
        reduction_order=(0,),
        unroll=8,
        parallel=0,
        prefetch=False,
    )
    constants = frozenset(tensor for tensor, _ in plan.program.constants)
    return register_use(tile_of(analyse(plan.nests[-1], constants), choice, machine))


def test_products_that_are_added_apart_take_a_register_and_an_instruction() -> None:
    joined = replace(HASWELL, in_steps=())
    wide, tall = use_of(4, 24, HASWELL), use_of(6, 16, HASWELL)
    assert (wide.registers, use_of(4, 24, joined).registers) == (17, 16)
    assert (tall.registers, use_of(6, 16, joined).registers) == (16, 15)
    assert tall.code - use_of(6, 16, joined).code == 8 * 12


def test_sums_of_such_products_have_a_tile_that_registers_hold() -> None:
    chosen = in_pairs().default_under_algorithm(HASWELL, 1)[1].choices[-1]
    assert chosen.tile == (6, 16)
