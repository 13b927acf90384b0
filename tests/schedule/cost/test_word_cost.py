"""Words that a tile puts together are counted once for all that reads them."""

from __future__ import annotations

from relay_tune.codegen.target import parse_target
from relay_tune.machine.pattern import UNSIGNED_BY_SIGNED
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.analysis import NestAnalysis, analyse
from relay_tune.schedule.cost.conversions import step_operations
from relay_tune.schedule.cost.load_count import body_loads
from relay_tune.schedule.cost.tile import Tile, tile_of
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.dot_products.record import DOT_PRODUCTS
from relay_tune.tensor.program import TensorProgram
from tests.schedule.integer_products import dense, depthwise

MACHINE = machine_of(parse_target("x86_64-linux-gnu:cascadelake"))


def analysis(program: TensorProgram | None = None) -> NestAnalysis:
    (algorithm,) = (each for each in DOT_PRODUCTS if each.name == UNSIGNED_BY_SIGNED.name)
    plan = plan_program(program or depthwise((6, 5))).with_algorithm(algorithm())
    (nest,) = plan.nests
    constants = frozenset(tensor for tensor, _ in plan.program.constants)
    return analyse(nest, constants)


def tile(extents: tuple[int, ...], unroll: int) -> Tile:
    """Of the axes: pairs of rows, rows of a pair, columns, channels."""
    choice = TileChoice(
        vector=3,
        lanes=16,
        tile=extents,
        order=(0, 1, 2, 3),
        blocks=(1, 1, 1, 1),
        reduction_order=(0,),
        unroll=unroll,
        parallel=0,
        prefetch=False,
    )
    return tile_of(analysis(), choice, MACHINE)


def test_a_word_is_three_joins_beside_the_product() -> None:
    assert step_operations(tile((1, 1, 1, 16), 1)) == 1 + 3


def test_sums_beside_each_other_share_words() -> None:
    assert step_operations(tile((1, 2, 1, 16), 1)) == 2 + 3
    assert step_operations(tile((1, 2, 4, 16), 3)) == 8 + 3 * 6 / 3


def test_the_parts_of_a_word_fill_one_register() -> None:
    loads = body_loads(tile((1, 2, 4, 16), 3))
    assert sum(loads.counts) == 4 * 4 + 2  # of data, of weights
    assert sum(loads.held) == 4 + 2


def test_words_of_another_sign_are_changed_once_for_all_columns() -> None:
    nest = analysis(dense(data="int8", steps=24, columns=32))
    (word,) = nest.words
    assert nest.body_operations == word.instructions(nest.nest.axes[-1]) == 1
