"""The program before and after each pass, as its docstring shows it, is what the tool prints."""

import importlib
import re
from pathlib import Path
from textwrap import dedent

import pytest

from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.transform.catalogue import LANGUAGE
from relay_tune.typing.infer import infer_types

EXAMPLE = re.compile(r"^before:\n(.*?)^after:\n(.*?)(?=^\S|\Z)", re.DOTALL | re.MULTILINE)


def plain_text(module: Module) -> str:
    """The text of a module without its first and last sections."""
    return module.astext().partition("\n")[2].strip()


@pytest.mark.parametrize("name", LANGUAGE)
def test_example(name: str) -> None:
    step = LANGUAGE[name]()
    text = importlib.import_module(step.__class__.__module__).__doc__ or ""
    examples = EXAMPLE.findall(text)
    assert examples, f"{name} shows no program before and after"
    for before, after in examples:
        module = infer_types(parse(dedent(before)))
        assert plain_text(step(module)) == dedent(after).strip()


def test_the_page_of_the_language_lists_every_pass() -> None:
    page = (Path(__file__).parents[3] / "docs" / "language.md").read_text()
    table = page.partition("## Passes of the language")[2].partition("Limits:")[0]
    assert [name for name in LANGUAGE if f"`{name}`" not in table] == []
