"""Estimates of tiles on matrix registers: how they grow, not how long anything takes."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from relay_tune.machine.machine import Machine
from relay_tune.schedule.intrinsics.cost import least_tile_cycles, tile_cycles
from relay_tune.schedule.intrinsics.match import IntrinsicMatch, intrinsic_match
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X6
from relay_tune.tensor.program import TensorProgram
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import SERVER, TILES
from tests.schedule.offered import MATRIX_PRODUCTS
from tests.schedule.products import dense

SLOW = replace(TILES, intrinsics=tuple(replace(each, cycles=40.0) for each in TILES.intrinsics))


THREE_PRODUCTS = BF16X3()


def matrix_nest(
    program: TensorProgram, algorithm: AppliedAlgorithm = THREE_PRODUCTS
) -> tuple[Nest, IntrinsicMatch]:
    for nest in plan_program(program, algorithm).nests:
        product = intrinsic_match(nest)
        if product is not None:
            return nest, product
    raise AssertionError("no nest runs on matrix registers")


def cycles_of(
    nest: Nest, product: IntrinsicMatch, rows: int, blocks: int, machine: Machine = TILES
) -> float:
    extents = dict.fromkeys(nest.axes, 1) | {product.row: rows, product.column: 16}
    if product.block is not None:
        extents[product.block] = blocks
    return tile_cycles(product, extents, machine, row_cycles=2.0)


def test_operands_that_were_just_written_hold_nothing_up() -> None:
    nest, product = matrix_nest(dense(32, 64, 32))
    extents = dict.fromkeys(nest.axes, 1) | {product.row: 32, product.column: 16}
    near, far = (tile_cycles(product, extents, TILES, 2.0, is_near) for is_near in (True, False))
    assert near < far


def test_a_machine_without_registers_takes_for_ever() -> None:
    _, product = matrix_nest(dense(32, 64, 32))
    assert least_tile_cycles(product, SERVER) == inf
    assert 0 < least_tile_cycles(product, TILES) < inf


def test_more_of_anything_takes_longer() -> None:
    nest, product = matrix_nest(dense(64, 512, 64))
    one = cycles_of(nest, product, 16, 1)
    assert one < cycles_of(nest, product, 32, 1) < cycles_of(nest, product, 32, 2)
    assert one < cycles_of(nest, product, 16, 1, SLOW)
    longer, long_product = matrix_nest(dense(64, 1024, 64))
    assert one < cycles_of(longer, long_product, 16, 1)
    six, six_product = matrix_nest(dense(64, 512, 64), BF16X6())
    assert one < cycles_of(six, six_product, 16, 1)


def test_rows_that_begin_within_a_line_take_longer() -> None:
    aligned, aligned_product = matrix_nest(convolution_program((1, 16, 16, 32, 16), kernel=(3, 1)))
    torn, torn_product = matrix_nest(convolution_program((1, 16, 16, 8, 16), kernel=(3, 4)))
    assert len(aligned.reduction) == len(torn.reduction)
    whole = cycles_of(aligned, aligned_product, 16, 1)
    assert whole < cycles_of(torn, torn_product, 16, 1)


@pytest.mark.parametrize("algorithm", [BF16X3(), BF16X6()])
@pytest.mark.parametrize("sizes", [(32, 64, 32), (21, 100, 48), (200, 1000, 96)])
def test_no_estimate_is_below_the_bound(
    sizes: tuple[int, int, int], algorithm: AppliedAlgorithm
) -> None:
    plan = plan_program(dense(*sizes), algorithm)
    cycles, _ = plan.default_under_algorithm(TILES, 1)
    assert plan.least_cycles(TILES, 1) <= cycles < inf


def test_six_products_take_longer_than_three() -> None:
    plan = plan_program(dense(256, 512, 256))
    three, six = (
        plan.with_algorithm(name).default_under_algorithm(TILES, 1)[0]
        for name in (BF16X3(), BF16X6())
    )
    assert three < six < 2.5 * three


def test_large_products_run_on_matrix_registers_by_default() -> None:
    plan = plan_program(dense(256, 1024, 1024))
    assert plan.default_schedule(TILES, 1).algorithm == BF16X3()
    assert plan.default_schedule(SERVER, 1).algorithm not in MATRIX_PRODUCTS
