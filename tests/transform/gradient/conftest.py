"""What tests of derivatives share."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay_tune.op  # noqa: F401
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.gradient.differentiate import Differentiate
from relay_tune.typing.infer import infer_types

HEADER = '#[version = "0.0.5"]\n'


@pytest.fixture
def after() -> Callable[[str], Module]:
    """after(text): the typed module of a program, differentiated."""

    def build(text: str) -> Module:
        return infer_types(Differentiate()(infer_types(parse(HEADER + text))))

    return build


@pytest.fixture
def difference() -> Callable[..., Any]:
    """difference(text, *inputs): central differences of @f in float64, one for each input."""

    def quotients(text: str, *inputs: Any, step: float = 1e-6) -> list[Any]:
        module = infer_types(parse(HEADER + text))

        def value(arguments: list[Any]) -> float:
            return float(interpret(module, *arguments, function="f"))

        found = []
        for place, given in enumerate(inputs):
            slope = np.zeros(np.shape(given))
            for index in np.ndindex(slope.shape):
                bump = np.zeros(slope.shape)
                bump[index] = step
                high, low = list(inputs), list(inputs)
                high[place], low[place] = given + bump, given - bump
                slope[index] = (value(high) - value(low)) / (2 * step)
            found.append(slope)
        return found

    return quotients
