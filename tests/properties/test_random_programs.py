"""Random programs themselves: they use the whole language, and are what they promise to be."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings

from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.printer.astext import astext
from relay_tune.ir.structural import first_difference
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import FuncType
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.typing.infer import infer_types
from relay_tune.typing.well_formed import check_well_formed
from tests.properties.programs.compare import assert_same_value
from tests.properties.programs.program_types import is_data
from tests.properties.programs.random_program import Program, programs, random_program

KINDS = (
    "Call Constant Var Function Operator Tuple GlobalVar Match Constructor If Let TupleGetItem "
    "RefRead RefCreate RefWrite"
).split()


def test_a_seed_is_a_program() -> None:
    (first, inputs), (second, others) = random_program(11), random_program(11)
    assert astext(first) == astext(second)
    assert all(map(np.array_equal, inputs, others))


def test_every_construct_occurs() -> None:
    counts: Counter[str] = Counter()
    for seed in range(60):
        module = EliminateDeadCode()(random_program(seed)[0])
        nodes = [node for function in module.functions.values() for node in post_order(function)]
        counts.update({node.__class__.__name__ for node in nodes})
        counts["recursive"] += "@f0" in module.astext() and "%n" in module.astext()
        counts["polymorphic"] += "%general" in module.astext()
    assert all(counts[kind] > 5 for kind in KINDS), counts
    assert counts["recursive"] > 5 and counts["polymorphic"] > 3


@settings(max_examples=40, deadline=None)
@given(program=programs())
def test_programs_are_well_formed_and_give_data(program: Program) -> None:
    module, inputs = program
    check_well_formed(module)
    assert isinstance(module.main.type, FuncType) and is_data(module.main.type.result)
    interpret(module, *inputs)


def assert_round_trip(module: Module) -> None:
    """The text of a module is read back as the same module, with the same types."""
    text = astext(module)
    again = parse(text)
    assert first_difference(module, again) is None
    assert astext(again) == text
    assert infer_types(again).astext(True) == module.astext(True)


@settings(max_examples=25, deadline=None)
@given(program=programs())
@example(program=random_program(1_332_207_517, 48))  # a type parameter's name has a number
def test_text_is_read_back(program: Program) -> None:
    assert_round_trip(program[0])
    module, inputs = program
    assert_same_value(interpret(parse(astext(module)), *inputs), interpret(module, *inputs))


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(20))
def test_text_is_read_back_for_2000_programs(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        assert_round_trip(random_program(seed)[0])
