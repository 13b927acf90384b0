"""Estimates take their coefficients from the machine; their source has none of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import relay_tune

SCHEDULE = Path(relay_tune.__file__).parent / "schedule"

ESTIMATING = (
    *sorted(SCHEDULE.glob("cost/*.py")),
    *sorted(SCHEDULE.glob("rewrites/*/cost.py")),
    *(path for path in sorted(SCHEDULE.glob("loops/prefetch/*.py")) if path.stem != "limits"),
    SCHEDULE / "intrinsics" / "cost.py",
    SCHEDULE / "plan.py",
    SCHEDULE / "space" / "choice_cost.py",
    SCHEDULE / "space" / "cycle_bound.py",
    SCHEDULE / "space" / "group_spaces.py",
    SCHEDULE / "space" / "parallel_loops.py",
    SCHEDULE / "space" / "vector_axes.py",
)

PLAIN = {0, 1, 2}
"""Nothing, one, and both of two: any other number says something of a machine."""

BOOKKEEPING = ("REMEMBERED", "MOST_COUNTED")
"""How names of constants begin that bound what is kept or counted."""


def _is_bookkeeping(node: ast.AST) -> bool:
    """Whether numbers within a node are sizes of tables, or positions in a sequence."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name.startswith(BOOKKEEPING)
        case ast.Call(func=ast.Name(id="remembered")) | ast.Subscript():
            return True
    return False


def numbers(node: ast.AST) -> Iterator[tuple[int, float]]:
    """The lines and values of numbers that are more than bookkeeping."""
    if _is_bookkeeping(node):
        return
    match node:
        case ast.Constant(value=int(value)) if value not in PLAIN:
            yield node.lineno, value
        case ast.Constant(value=float(value)) if value not in (0.0, 1.0):
            yield node.lineno, value
    for child in ast.iter_child_nodes(node):
        yield from numbers(child)


def test_the_rooms_are_there():
    assert len(ESTIMATING) > 20


@pytest.mark.parametrize("path", ESTIMATING, ids=lambda path: str(path.relative_to(SCHEDULE)))
def test_no_file_quotes_a_coefficient(path):
    assert list(numbers(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize(
    "text",
    ["x = 0.5 * y", "LATENCY = 4.0", "def f(): return 2.0 * g()", "x = min(y, 10)", "x = 1 / 200"],
)
def test_coefficients_are_found(text):
    assert list(numbers(ast.parse(text)))


@pytest.mark.parametrize("text", ["REMEMBERED = 1 << 12", "x = y[1:3]", "x = max(2 * y - 1, 0.0)"])
def test_other_numbers_are_not(text):
    assert not list(numbers(ast.parse(text)))
