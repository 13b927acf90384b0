"""Words of neighbours in rows: which convolutions have them, and when their data are copied."""

from __future__ import annotations

import pytest

from relay_tune.machine.pattern import PAIRS, UNSIGNED_BY_SIGNED
from relay_tune.schedule.cost.analysis import analyse
from relay_tune.schedule.nests.made_words import made_words
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.dot_products.match import DotProducts, match_dot_products
from relay_tune.schedule.rewrites.dot_products.record import DOT_PRODUCTS
from relay_tune.tensor.program import TensorProgram
from tests.schedule.integer_products import channels_first, depthwise, first_convolution

BYTES = UNSIGNED_BY_SIGNED


def found(program: TensorProgram) -> DotProducts:
    match = match_dot_products(program.outputs[0], BYTES)
    assert match is not None
    return match


def plan_of(program: TensorProgram) -> Plan:
    (algorithm,) = (each for each in DOT_PRODUCTS if each.name == BYTES.name)
    return plan_program(program).with_algorithm(algorithm())


@pytest.mark.parametrize(
    ("program", "axis", "steps"),
    [
        (first_convolution(3, 7), "kw", 3 * 7 * 2),
        (first_convolution(3, 3), "kw", 3 * 3),
        (first_convolution(1, 5), "kw", 5 * 2),
        (first_convolution(2, 5), "kw", 2 * 5 * 2),
        (first_convolution(4, 7), "c", 7 * 7),
        (first_convolution(8, 7), "c", 7 * 7 * 2),
    ],
)
def test_the_fewest_words_are_chosen(program: TensorProgram, axis: str, steps: int) -> None:
    match = found(program)
    assert (match.axis.name, match.steps) == (axis, steps)
    assert (match.in_rows is None) == (axis == "c")


@pytest.mark.parametrize(
    "program",
    [
        depthwise(),  # neighbours are channels
        channels_first(),  # lanes read different words
        first_convolution(1, 3, dilation=2),  # elements lie apart
        first_convolution(results=1),  # there are no lanes along the results
    ],
)
def test_other_words_are_made_as_before(program: TensorProgram) -> None:
    assert found(program).in_rows is None


def test_narrow_elements_are_widened_in_a_copy() -> None:
    match = match_dot_products(first_convolution().outputs[0], PAIRS)
    assert match is not None
    assert match.in_rows is None


@pytest.mark.parametrize(
    ("program", "copies"),
    [
        (first_convolution(spare=1), 0),
        (first_convolution(), 1),  # rows end before the last word
        (first_convolution(spare=1, border=3), 1),  # the border is written anyway
    ],
)
def test_data_are_copied_only_where_rows_are_short(program: TensorProgram, copies: int) -> None:
    plan = plan_of(program)
    assert len({nest.target.viewed for nest in plan.nests}) == copies + 1
    assert len(made_words(plan.nests[-1])) == 1


def test_a_word_in_a_row_is_one_load() -> None:
    plan = plan_of(first_convolution(spare=1))
    nest = plan.nests[-1]
    analysis = analyse(nest, frozenset(tensor for tensor, _ in plan.program.constants))
    (word,) = analysis.words
    assert word.form is not None
    rows, columns, results = nest.axes
    assert word.instructions(results) == 0
    assert word.instructions(columns) == 3
    assert sum(access.is_in_row for access in analysis.body_accesses) == 3
