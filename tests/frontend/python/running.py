"""Programs written in Python, run: what the interpreter makes of them, as values of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.frontend.python.relay_function import RelayFunction
from relay_tune.runtime.data_values import list_items, list_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import ConstructorValue


def run(function: RelayFunction, *inputs: Any) -> Any:
    values = (list_value(item) if isinstance(item, list) else item for item in inputs)
    return python(interpret(function.module, *values))


def python(value: Any) -> Any:
    match value:
        case tuple():
            return tuple(python(part) for part in value)
        case ConstructorValue():
            return [python(item) for item in list_items(value)]
        case np.ndarray() if value.shape == ():
            return value.item()
        case _:
            return value


def same(function: RelayFunction, *inputs: Any) -> None:
    """The program and the Python function that it was written as agree."""
    np.testing.assert_equal(run(function, *inputs), function.function(*inputs))
