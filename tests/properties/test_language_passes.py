"""Every pass of the language keeps the answer, the type and the text of random programs."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import first_difference
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.typing.infer import infer_types
from relay_tune.typing.well_formed import check_well_formed
from tests.properties.language_passes import CHECKS, PASSES
from tests.properties.programs.compare import assert_same_value
from tests.properties.programs.random_program import Program, programs, random_program


def assert_pass_keeps(name: str, program: Program) -> None:
    """The result of a pass is a typed, well-formed program with the same answer."""
    module, inputs = program
    result = PASSES[name](module)
    assert result.main.type == module.main.type
    infer_types(result)
    check_well_formed(result)
    assert_same_value(interpret(result, *inputs), interpret(module, *inputs))
    assert first_difference(parse(result.astext()), result) is None
    CHECKS.get(name, lambda _: None)(result)


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=programs())
def test_pass_keeps_programs(name: str, program: Program) -> None:
    assert_pass_keeps(name, program)


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(2))
@pytest.mark.parametrize("name", PASSES)
def test_pass_keeps_2000_programs(name: str, thousand: int) -> None:
    for seed in range(1000 * thousand, 1000 * thousand + 1000):
        assert_pass_keeps(name, random_program(seed))
