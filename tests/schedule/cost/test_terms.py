"""The terms of what memory costs, each with its coefficient."""

from dataclasses import replace

import pytest

from relay_tune.machine.coefficients import FITTED
from relay_tune.machine.machine import Machine
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.operand import operands
from relay_tune.schedule.cost.terms import OF_DATA, OF_WEIGHTS, _streamed, memory_cycles
from relay_tune.schedule.cost.tile import tile_of
from relay_tune.schedule.cost.traffic import Traffic, traffic_of
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.weight_panels.record import PANELS
from relay_tune.schedule.space.default_choice import default_choice
from tests.schedule import products
from tests.schedule.machines import SERVER
from tests.schedule.nest_spaces import weighted_product

NAMES = sorted({term.coefficient for term in (*OF_DATA, *OF_WEIGHTS) if term.coefficient})

SPACE = weighted_product(32, 512, 4096)
CHOICE = TileChoice(1, 16, (16, 32), (1, 0), (1, 1), (0,), 8, 0)


def traffic(choice: TileChoice, machine: Machine = SERVER) -> Traffic:
    return traffic_of(tile_of(SPACE.analysis, choice, machine), choice)


@pytest.mark.parametrize("name", NAMES)
def test_the_coefficients_of_terms_are_fitted(name: str):
    assert name in FITTED


@pytest.mark.parametrize("prefetch", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_exposed_is_linear_in_a_terms_coefficient(name: str, prefetch: bool):
    choice = replace(CHOICE, prefetch=prefetch)
    value = getattr(SERVER.coefficients, name)
    twice = replace(SERVER, coefficients=SERVER.coefficients.changed({name: 2 * value}))
    hidden, exposed = zip(
        *(memory_cycles(traffic(choice, machine)) for machine in (SERVER, twice)),
        strict=True,
    )
    own = sum(
        term.cycles(operand)
        for operand in operands(traffic(choice))
        for term in (OF_WEIGHTS if operand.access.constant else OF_DATA)
        if term.coefficient == name
    )
    assert hidden[0] == hidden[1]
    assert exposed[1] - exposed[0] == pytest.approx(own)


def test_weights_that_are_asked_for_cost_other_terms_than_those_that_are_not():
    def terms(choice: TileChoice) -> set[str | None]:
        found = operands(traffic(choice))
        weights = next(operand for operand in found if operand.access.constant)
        return {term.coefficient for term in OF_WEIGHTS if term.cycles(weights)}

    unasked = {"exposed_weights", "unfetched_weights", "awaited_weights"}
    assert terms(CHOICE) == unasked
    assert "prefetch" in terms(replace(CHOICE, prefetch=True))
    assert not terms(replace(CHOICE, prefetch=True)) & unasked


def test_every_byte_that_loops_touch_is_in_their_working_set():
    plain, fetching = traffic(CHOICE), traffic(replace(CHOICE, prefetch=True))
    assert [sum(each) for each in plain.touched] == plain.working_sets
    assert fetching.working_sets[0] > plain.working_sets[0]
    assert fetching.tile is plain.tile


@pytest.mark.parametrize(
    ("rows", "tile", "order", "waits"),
    [
        (100_000, (14, 32), (0, 1), True),  # the second tile of 32 columns finds its rows near
        (100_000, (6, 64), (0, 1), False),  # each tile reads rows of its own
        (100_000, (14, 32), (1, 0), False),  # so do tiles that follow each other here
        (1_000, (14, 32), (0, 1), False),  # a cache holds all rows
    ],
)
def test_rows_from_memory_are_waited_for_where_the_next_tile_reads_them_again(
    rows: int, tile: tuple[int, int], order: tuple[int, int], waits: bool
):
    space = weighted_product(rows, 256, 64)
    choice = TileChoice(1, 16, tile, order, (1, 1), (0,), 8, 0)
    found = operands(traffic_of(tile_of(space.analysis, choice, SERVER), choice))
    data = next(operand for operand in found if not operand.access.constant)
    term = next(each for each in OF_DATA if each.coefficient == "awaited_rows")
    assert term.cycles(data) == (SERVER.coefficients.awaited_rows * data.first if waits else 0.0)


def test_the_default_reads_rows_from_memory_once():
    assert default_choice(weighted_product(100_000, 256, 64)).tile[1] == 64


def test_a_panel_that_a_group_keeps_is_no_reason_for_rows_to_come_late():
    """3072 steps of 48 columns fill most of the second cache, as packed constants do elsewhere."""
    plan = plan_program(products.narrow(512, 3072, 96), PANELS(columns=48))
    space = plan.spaces(SERVER, 1)[-1]
    choice = TileChoice(1, 16, (9, 48), (0, 1), (1, 1), (0,), 8, 0)
    assert sum(traffic_of(tile_of(space.analysis, choice, SERVER), choice).touched[0]) > (
        SERVER.memories[1].bytes / 2
    )
    found = operands(traffic_of(tile_of(space.analysis, choice, SERVER), choice))
    rows = next(operand for operand in found if not operand.access.is_near)
    assert _streamed(rows) == 0.0
