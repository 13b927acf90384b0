"""Native code gives the interpreter's answer for random programs, call after call."""

import pytest

from relay_tune.building.build import build
from relay_tune.runtime.interpreter.interpret import interpret
from tests.properties.programs.compare import assert_same_value
from tests.properties.programs.random_program import random_program


def check(seed: int) -> None:
    module, inputs = random_program(seed)
    model = build(module, threads=1)
    expected = interpret(module, *inputs)
    for _ in range(2):
        assert_same_value(model(*inputs), expected, f"seed {seed}")


@pytest.mark.parametrize("seed", [3, 141, 503, 526, 799, 1009, 2718, 9000, 31415])
def test_native_code_agrees(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(20))
def test_native_code_agrees_for_2000_programs(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        check(seed)
