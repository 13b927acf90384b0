"""No pass decides by an operator's name: what it knows of operators is in tables of op_rules."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import relay_tune.op  # noqa: F401
import relay_tune.transform
from relay_tune.ir.operator import operators

ROOT = Path(relay_tune.transform.__file__).parent
NAMES = frozenset(operator.name for operator in operators())

BUILDERS = frozenset({"call", "find_operator"})
"""Functions to which a pass may give the name of an operator that it makes a call of."""

DECIDERS = frozenset({"operator_name", "operator_call"})
"""Functions that tell or compare the name of the operator that a node calls."""


def named_operators(source: str) -> list[str]:
    """What in a pass names an operator, other than to make a call of it, with its line."""
    tree = ast.parse(source)
    allowed = set(_ignored(tree))
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in allowed:
                words = {text, *text.split()} & NAMES
                found.extend(f"{node.lineno}: {word!r}" for word in sorted(words))
            case ast.Name(id=name) | ast.alias(name=name) if name in DECIDERS:
                found.append(f"{node.lineno}: {name}")
            case ast.Compare(left=left, comparators=others):
                asked = [each for each in (left, *others) if _is_name_of_operator(each)]
                if asked and not any(_is_option(each) for each in others):
                    found.append(f"{node.lineno}: comparison of {ast.unparse(asked[0])}")
            case ast.Match(subject=subject) if _is_name_of_operator(subject):
                found.append(f"{node.lineno}: match {ast.unparse(subject)}")
    return found


def _ignored(tree: ast.AST) -> Iterator[int]:
    """Docstrings, names of passes, and arguments of functions that make calls."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as text):
                yield id(text)
            case ast.AnnAssign(target=ast.Name(id="name"), value=ast.Constant() as text):
                yield id(text)
            case ast.Call(func=ast.Name(id=function), args=[first, *_]) if function in BUILDERS:
                yield id(first)
            case ast.JoinedStr():
                yield from (id(part) for part in node.values)


def _is_name_of_operator(node: ast.expr) -> bool:
    """operator.name, node.operator.name, call.callee.name .."""
    if not isinstance(node, ast.Attribute) or node.attr != "name":
        return False
    owner = node.value
    last = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return last in ("operator", "callee", "op")


def _is_option(node: ast.expr) -> bool:
    """An option of a pass: names that whoever builds the pass gives (`self.keep`)."""
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"


@pytest.mark.parametrize("file", sorted(ROOT.rglob("*.py")), ids=lambda file: file.stem)
def test_a_pass_decides_by_no_name(file: Path) -> None:
    assert named_operators(file.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        'POOLS = ("nn.max_pool2d", "nn.avg_pool2d")',
        'KEEPING = frozenset("reshape squeeze".split())',
        'is_sum = node.callee.attributes and name == "add"',
        "from relay_tune.op_rules.matching import operator_name",
        "found = matching.operator_call if x else operator_call(x, *NAMES)",
        "ok = node.operator.name in TAILS",
        'match call.callee.name:\n    case "x": pass',
        'RULES = {"nn.conv2d": 1}',
        'new = call("reshape", x, order="transpose")',
    ],
)
def test_what_would_decide_by_a_name_is_found(source: str) -> None:
    assert named_operators(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""transpose of a transpose"""',
        'new = call("reshape", x, newshape=shape)',
        "left = operator.name in self.keep",
        'name: ClassVar[str] = "check_indices"',
        'x = "fuse"',
    ],
)
def test_what_decides_nothing_is_let_be(source: str) -> None:
    assert named_operators(source) == []
