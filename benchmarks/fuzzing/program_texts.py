"""Programs that are printed, read and printed again: those of the repository and random ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from relay_tune import zoo
from relay_tune.errors import ParseError, RelayError
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.printer.astext import astext
from relay_tune.ir.structural import first_difference, structural_hash
from relay_tune.std import prelude
from relay_tune.typing.infer import infer_types
from tests.properties import toy_operators
from tests.properties.programs.random_program import random_program

assert toy_operators.ADD  # some programs of the tests use these operators
ROOT = Path(__file__).parents[2]
DEFINITION = re.compile(r"\bdef @|\bfn \(|\btype \w+.*\{")


def check_random_text(seed: int) -> Iterator[str]:
    """What is wrong with the text of a random program."""
    yield from check_text(random_program(seed)[0])


def check_text(module: Module) -> Iterator[str]:
    """What is lost when a module is printed and read; typed modules keep their types."""
    text = astext(module)
    try:
        again = parse(text)
    except RelayError as error:
        yield f"it cannot be read: {error}"
        return
    if first_difference(module, again) is not None:
        yield "it is read as another program"
    if structural_hash(module) != structural_hash(again):
        yield "its hash differs"
    if astext(again) != text:
        yield "it is printed in another way"
    typed = _typed(module)
    if typed is not None and infer_types(again).astext(True) != typed.astext(True):
        yield "its types differ"


def _typed(module: Module) -> Module | None:
    """A module with its types; nothing if it has none."""
    try:
        return infer_types(module)
    except RelayError:
        return None


def repository_programs() -> Iterator[tuple[str, Module]]:
    """Every program of the prelude, the zoo, the documentation and the tests, by name.

    Of the tests these are the files, and the literals in Python that hold a definition. What is not
    meant to be read is left out.
    """
    yield "prelude", prelude()
    for name in [*zoo.names(), *zoo.program_names()]:
        yield f"zoo:{name}", zoo.build(name, small=True)
    for name, text in _texts():
        try:
            yield name, parse(text, base=prelude())
        except ParseError:
            continue


def _texts() -> Iterator[tuple[str, str]]:
    for path in sorted([*ROOT.glob("docs/**/*.relay"), *ROOT.glob("tests/**/*.relay")]):
        yield str(path.relative_to(ROOT)), path.read_text()
    for path in sorted(ROOT.glob("docs/*.md")):
        for number, text in enumerate(re.findall(r"```relay\n(.*?)```", path.read_text(), re.S)):
            yield f"{path.relative_to(ROOT)} example {number}", text
    for path in sorted([*ROOT.glob("tests/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Constant):
                continue
            text = node.value
            if isinstance(text, str) and DEFINITION.search(text):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", text
