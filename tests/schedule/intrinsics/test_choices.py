"""The choices of a nest on matrix registers, and which of a schedule file do not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from relay_tune.errors import InputError
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.choices import (
    tile_alternatives,
    tile_misfit,
)
from relay_tune.schedule.intrinsics.match import IntrinsicMatch, intrinsic_match
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.plan import Plan, plan_program, read_schedule
from relay_tune.schedule.rewrites.algorithm import DIRECT, AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X6
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import TILES
from tests.schedule.products import dense


def matrix_nest(plan: Plan) -> tuple[int, Nest, IntrinsicMatch]:
    """The index of the nest on matrix registers, itself, and what stands where in it."""
    for position, nest in enumerate(plan.nests):
        product = intrinsic_match(nest)
        if product is not None:
            return position, nest, product
    raise AssertionError("no nest runs on matrix registers")


@pytest.fixture(scope="module")
def plan() -> Plan:
    """40 rows, registers of 14, by three blocks of 16 columns."""
    return plan_program(dense(40, 64, 48), BF16X3())


def default_of(plan: Plan) -> TileChoice:
    return plan.default_under_algorithm(TILES, 1)[1].choices[matrix_nest(plan)[0]]


# Alternatives ------------------------------------------------------------------------------------


def test_the_tiles_of_a_dense_product(plan: Plan) -> None:
    _, nest, product = matrix_nest(plan)
    found = tile_alternatives(product)
    assert found["vector"] == ((2, 16),)
    assert found["tile0"] == (14, 28, 40)
    assert found["tile1"] == (1, 2, 3)
    assert set(found["order"]) == {(0, 1, 2), (1, 0, 2)}
    assert found["blocks0"] == (1,)


@pytest.mark.parametrize(
    "program",
    [
        dense(40, 64, 48),
        dense(8, 64, 16),
        convolution_program((2, 9, 20, 32, 48)),
        convolution_program((2, 9, 20, 32, 48), stride=2),
    ],
)
def test_orders_permute_the_inner_loops_but_the_columns(program: Any) -> None:
    _, nest, product = matrix_nest(plan_program(program, BF16X3()))
    column = nest.axes.index(product.column)
    orders = tile_alternatives(product)["order"]
    others = [position for position in range(len(nest.axes)) if position != column]
    moved = others[-3:]
    assert len(set(orders)) == len(orders) == len(list(permutations(moved)))
    for order in orders:
        assert isinstance(order, tuple)
        assert sorted(order) == list(range(len(nest.axes)))
        assert order[-1] == column
        assert order[: len(others) - len(moved)] == tuple(others[: -len(moved)])


def test_many_rows_may_be_blocked() -> None:
    _, nest, product = matrix_nest(plan_program(dense(16 * 16, 32, 16), BF16X3()))
    assert tile_alternatives(product)["blocks0"] == (1, 2, 4)


def test_a_space_holds_what_fits(plan: Plan) -> None:
    position, _, product = matrix_nest(plan)
    space = plan.spaces(TILES, 2)[position]
    choices = [space.decode(chosen) for chosen in space.combinations()]
    sensible = [choice for choice in choices if space.is_sensible(choice)]
    assert 0 < len(sensible) < len(choices)
    for choice in choices:
        assert space.is_sensible(choice) == product.fits(*product.tile_registers(choice))


@pytest.mark.parametrize("algorithm", [BF16X3(), BF16X6(), BF16X3(gathered=True)])
def test_the_default_fits(algorithm: AppliedAlgorithm) -> None:
    plan = plan_program(convolution_program((1, 9, 20, 40, 48)), algorithm)
    _, schedule = plan.default_under_algorithm(TILES, 2)
    assert read_schedule(schedule.to_json(), plan.with_algorithm(DIRECT)) == schedule


# Misfits -----------------------------------------------------------------------------------------

MISFITS: dict[str, tuple[dict[str, Any], str]] = {
    "too many registers": ({"tile": [40, 3, 16]}, "a tile of 3 x 3 matrix registers"),
    "many columns": ({"tile": [14, 3, 16], "vector": 1, "lanes": 16}, "vectors along another axis"),
    "few lanes": ({"lanes": 8}, "vectors along another axis"),
    "no lanes": ({"vector": -1, "lanes": 1}, "vectors along another axis"),
    "half of the columns": ({"tile": [14, 1, 8]}, "a tile along axes that matrix registers"),
    "few rows": ({"tile": [13, 1, 16]}, "a tile of 13 rows of matrix registers"),
    "written out": ({"unroll": 2}, "steps that are written out"),
    "an odd order": ({"order": [0, 1, 1]}, "a tile or order of another rank"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_schedules_that_do_not_fit_are_refused(plan: Plan, case: str) -> None:
    changes, reason = MISFITS[case]
    position = matrix_nest(plan)[0]
    _, schedule = plan.default_under_algorithm(TILES, 1)
    data = json.loads(schedule.to_json())
    assert read_schedule(json.dumps(data), plan) == schedule
    data["nests"][position].update(changes)
    with pytest.raises(InputError, match=f"does not fit nest .*: {reason}"):
        read_schedule(json.dumps(data), plan)


def test_lines_of_an_image_are_no_part_of_a_tile() -> None:
    plan = plan_program(convolution_program((1, 5, 20, 32, 32)), BF16X3())
    _, nest, product = matrix_nest(plan)
    choice = default_of(plan)
    assert tile_misfit(choice, product) is None
    line = next(
        position
        for position, axis in enumerate(nest.axes)
        if axis not in (product.row, product.block, product.column)
    )
    tile = [2 if position == line else extent for position, extent in enumerate(choice.tile)]
    reason = tile_misfit(replace(choice, tile=tuple(tile)), product)
    assert reason == "a tile along axes that matrix registers do not have"


def test_odd_tiles_of_rows_fit(plan: Plan) -> None:
    """Registers of a tile may share rows: 20 rows are two registers of 14."""
    _, nest, product = matrix_nest(plan)
    choice = replace(default_of(plan), tile=(20, 1, 16))
    assert tile_misfit(choice, product) is None
    assert product.tile_registers(choice) == (2, 1)
