"""The examples of docs/language.md are programs, and mean what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay_tune.op
from relay_tune.ir.parser.parse import parse, parse_expr
from relay_tune.ir.printer.astext import astext
from relay_tune.ir.structural import first_difference
from relay_tune.runtime.interpreter.interpret import evaluate
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.std import prelude
from relay_tune.typing.infer import infer_expr, infer_types

PAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text()
EXAMPLES = re.findall(r"```relay\n(.*?)```", PAGE, re.DOTALL)
LINES = [
    line
    for block in re.findall(r"```relay-run\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]
assert relay_tune.op.__doc__  # the examples use its operators


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example: str) -> None:
    module = parse(example)
    assert first_difference(module, parse(astext(module))) is None
    infer_types(module)


@pytest.mark.parametrize("line", LINES)
def test_value_of_a_line(line: str) -> None:
    text, _, expected = line.rpartition("//")
    expr = infer_expr(parse_expr(text, base=prelude()), prelude())
    assert shown(evaluate(expr, prelude())) == expected.strip()
    again = parse_expr(astext(expr), base=prelude())
    assert shown(evaluate(again, prelude())) == expected.strip()


def shown(value: Any) -> str:
    match value:
        case tuple():
            return f"({', '.join(map(shown, value))})"
        case ConstructorValue():
            fields = ", ".join(map(shown, value.fields))
            return f"{value.constructor.name}({fields})" if fields else value.constructor.name
        case np.ndarray():
            return str(value.tolist())
        case _:
            return repr(value)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 7
    assert len(LINES) >= 30
