"""The examples of docs/language.md are programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relay_tune.op
from relay_tune.ir.parser import parse
from relay_tune.ir.printer import astext
from relay_tune.ir.structural import first_difference

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
EXAMPLES = re.findall(r"```relay\n(.*?)```", PAGE.read_text(), re.DOTALL)
assert relay_tune.op.__doc__  # the examples use its operators


@pytest.mark.usefixtures("infix_operators")
@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example: str) -> None:
    module = parse(example)
    assert first_difference(module, parse(astext(module))) is None


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 7
