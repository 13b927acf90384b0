"""What is outside of an algorithm's own file asks its record and does not know its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import relay_tune
from relay_tune.schedule.rewrites.table import ALGORITHMS

ROOT = Path(relay_tune.__file__).parent
REWRITES = ROOT / "schedule" / "rewrites"
SHARED = ("relay_tune.schedule.rewrites.algorithm", "relay_tune.schedule.rewrites.table")
NAMES = {each.name for each in ALGORITHMS}
_QUOTED = rf"['\"]({'|'.join(NAMES)})['\"]"
MENTIONED = re.compile(rf"algorithm|schedule\.rewrites|\.name\b.*{_QUOTED}|{_QUOTED}.*\.name\b")
"""What stands in every text with a violation, so that few files have to be parsed."""

STRING_QUESTIONS = {"startswith", "endswith", "removeprefix", "split", "partition", "find"}


def _says_algorithm(node: ast.AST) -> bool:
    """Whether an expression is called an algorithm."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return "algorithm" in name.lower()
        case ast.Call(func=ast.Name(id="str"), args=[inner]):
            return _says_algorithm(inner)
    return False


def _texts(node: ast.AST) -> set[str]:
    every = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return {value for value in every if isinstance(value, str)}


def violations(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines of a program outside of `rewrites` that know an algorithm, and how."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                sides = (left, *others)
                texts = _texts(node)
                by_name = any(isinstance(e, ast.Attribute) and e.attr == "name" for e in sides)
                if texts and any(map(_says_algorithm, sides)):
                    yield node.lineno, "compares an algorithm with a text"
                elif by_name and texts & NAMES:
                    yield node.lineno, "compares a name with that of an algorithm"
            case ast.Call(func=ast.Attribute(value=value, attr=attr)):
                if attr in STRING_QUESTIONS and _says_algorithm(value):
                    yield node.lineno, "takes the text of an algorithm apart"
            case ast.Match(subject=subject) if _says_algorithm(subject):
                yield node.lineno, "distinguishes algorithms"
            case ast.ImportFrom(module=str(module)):
                if module.startswith("relay_tune.schedule.rewrites") and module not in SHARED:
                    yield node.lineno, "imports an algorithm"


def test_nothing_asks_which_algorithm_it_is() -> None:
    texts = {p: p.read_text() for p in ROOT.rglob("*.py") if REWRITES not in p.parents}
    found = [
        f"{path.relative_to(ROOT)}:{line} {what}"
        for path, text in texts.items()
        if MENTIONED.search(text)
        for line, what in violations(ast.parse(text))
    ]
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        'if plan.algorithm == "winograd4": pass',
        'schedule.algorithm in ("rows", "split")',
        "str(algorithm) != 'direct'",
        'algorithm.startswith("winograd")',
        "match rewrite.algorithm:\n    case _: pass",
        'if rewrite.name == "strassen": pass',
        "from relay_tune.schedule.rewrites.winograd.record import WINOGRAD",
    ],
)
def test_what_would_be_found(text: str) -> None:
    assert MENTIONED.search(text) and list(violations(ast.parse(text)))
