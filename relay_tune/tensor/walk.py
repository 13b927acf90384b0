"""Walking scalar expressions: operands, rebuilding, substitution; sharing is kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from operator import attrgetter
from typing import Any

from relay_tune.remembered import remembered
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Reduce,
    Reinterpret,
    Scalar,
    Select,
    Unary,
    Word,
    binary,
)

REMEMBERED = 4096
"""Roots whose nodes are kept: two of three walks are over what was walked over before."""

OPERANDS: Mapping[type[Scalar], Callable[[Any], tuple[Scalar, ...]]] = {
    Load: attrgetter("indices"),
    Unary: lambda unary: (unary.operand,),
    Cast: lambda cast: (cast.operand,),
    Reinterpret: lambda reinterpret: (reinterpret.operand,),
    Binary: attrgetter("left", "right"),
    Word: attrgetter("elements"),
    Select: attrgetter("condition", "if_true", "if_false"),
    Reduce: lambda reduce: (reduce.body,),
}
"""How to get the operands of a node, for each kind that has any."""


def operands(expression: Scalar) -> tuple[Scalar, ...]:
    """The direct sub-expressions."""
    get = OPERANDS.get(type(expression))
    return get(expression) if get is not None else ()


def rebuild(expression: Scalar, new: tuple[Scalar, ...]) -> Scalar:
    """`expression` with other operands; itself if they are the same objects."""
    if operands(expression) == new:  # nodes are equal only to themselves
        return expression
    dtype = expression.dtype
    match expression:
        case Binary():
            return binary(expression.operation, new[0], new[1])
        case Load():
            return Load(expression.tensor, new, dtype=dtype)
        case Unary():
            return Unary(expression.operation, new[0], dtype=dtype)
        case Cast():
            return Cast(new[0], dtype=dtype)
        case Reinterpret():
            return Reinterpret(new[0], dtype=dtype)
        case Word():
            return Word(new, dtype=dtype)
        case Select():
            return Select(*new, dtype=dtype)
        case Reduce():
            operation, axes, bits = expression.operation, expression.axes, expression.bits
            return Reduce(operation, axes, new[0], bits, dtype=dtype)
    return expression


@remembered(REMEMBERED)
def sub_expressions(*roots: Scalar) -> tuple[Scalar, ...]:
    """Every node once, operands first."""
    seen: set[Scalar] = set()
    found: list[Scalar] = []
    stack: list[Scalar | None] = list(reversed(roots))
    pop, kinds = stack.pop, OPERANDS.get
    while stack:
        node = pop()
        if node is None:  # the operands of the node below were visited
            below = pop()
            assert below is not None
            found.append(below)
        elif node not in seen:
            seen.add(node)
            get = kinds(type(node))
            if get is None:
                found.append(node)
                continue
            stack += (node, None)
            stack += get(node)[::-1]
    return tuple(found)


def transform(root: Scalar, visit: Callable[[Scalar], Scalar]) -> Scalar:
    """Rewrite bottom up; `visit` sees each node once, rebuilt from its rewritten operands."""
    done: dict[Scalar, Scalar] = {}
    new, kinds = done.__getitem__, OPERANDS.get
    for node in sub_expressions(root):
        get = kinds(type(node))
        done[node] = visit(node if get is None else rebuild(node, tuple(map(new, get(node)))))
    return done[root]


def substitute(root: Scalar, axes: Mapping[Axis, Scalar]) -> Scalar:
    """`root` with axes replaced by expressions."""
    return transform(root, lambda node: axes.get(node, node) if isinstance(node, Axis) else node)


def share_equal(root: Scalar) -> Scalar:
    """`root` with one node for all sub-expressions that are equal.

    before:  multiply(add(x[i], 1), exp(add(x[i], 1)))    two loads of x[i], two sums
    after:   y = add(x[i], 1);  multiply(y, exp(y))
    """
    known: dict[tuple[Hashable, ...], Scalar] = {}
    return transform(root, lambda node: known.setdefault(_content(node), node))


def _content(node: Scalar) -> tuple[Hashable, ...]:
    """The key by which nodes are equal; operands and axes count by identity."""
    inner: tuple[Hashable, ...] = operands(node)
    match node:
        case Literal():
            return "literal", node.dtype, repr(node.value)
        case Load():
            return "load", node.tensor, *inner
        case Unary() | Binary():
            return node.operation, *inner
        case Cast():
            return "cast", node.dtype, *inner
        case Reinterpret():
            return "reinterpret", node.dtype, *inner
        case Word():
            return "word", *inner
        case Select():
            return "select", *inner
    return (node,)


@remembered(REMEMBERED)
def loads(root: Scalar) -> tuple[Load, ...]:
    """All loads in an expression, once each."""
    return tuple(node for node in sub_expressions(root) if isinstance(node, Load))


def contains_load(root: Scalar) -> bool:
    """Whether anything is loaded."""
    return any(isinstance(node, Load) for node in sub_expressions(root))


def axes_of(*roots: Scalar) -> tuple[Axis, ...]:
    """All axes in expressions, once each, in order of first use."""
    return tuple(node for node in sub_expressions(*roots) if isinstance(node, Axis))


def replace_nodes(root: Scalar, replacements: Mapping[Scalar, Scalar]) -> Scalar:
    """`root` with some nodes replaced, wherever they are shared; replacements are not entered."""
    if not replacements:
        return root
    done: dict[Scalar, Scalar] = dict(replacements)
    for node in sub_expressions(root):
        if node not in done:
            done[node] = rebuild(node, tuple(done[operand] for operand in operands(node)))
    return done[root]
