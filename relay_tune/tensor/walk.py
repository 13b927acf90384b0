"""Walking scalar expressions: operands, rebuilding, substitution; sharing is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Cast,
    Load,
    Reduce,
    Scalar,
    Select,
    Unary,
    binary,
)


def operands(expression: Scalar) -> tuple[Scalar, ...]:
    """The direct sub-expressions."""
    match expression:
        case Load():
            return expression.indices
        case Unary() | Cast():
            return (expression.operand,)
        case Binary():
            return (expression.left, expression.right)
        case Select():
            return (expression.condition, expression.if_true, expression.if_false)
        case Reduce():
            return (expression.body,)
    return ()


def rebuild(expression: Scalar, new: tuple[Scalar, ...]) -> Scalar:
    """`expression` with other operands; itself if they are the same objects."""
    if all(a is b for a, b in zip(operands(expression), new, strict=True)):
        return expression
    match expression:
        case Load():
            return replace(expression, indices=new)
        case Unary() | Cast():
            return replace(expression, operand=new[0])
        case Binary():
            return binary(expression.operation, new[0], new[1])
        case Select():
            return replace(expression, condition=new[0], if_true=new[1], if_false=new[2])
        case Reduce():
            return replace(expression, body=new[0])
    return expression


def sub_expressions(*roots: Scalar) -> Iterator[Scalar]:
    """Every node once, operands first."""
    seen: set[Scalar] = set()
    stack: list[tuple[Scalar, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(operands(node)))


def transform(root: Scalar, visit: Callable[[Scalar], Scalar]) -> Scalar:
    """Rewrite bottom up; `visit` sees each node once, rebuilt from its rewritten operands."""
    done: dict[Scalar, Scalar] = {}
    for node in sub_expressions(root):
        done[node] = visit(rebuild(node, tuple(done[operand] for operand in operands(node))))
    return done[root]


def substitute(root: Scalar, axes: Mapping[Axis, Scalar]) -> Scalar:
    """`root` with axes replaced by expressions."""
    return transform(root, lambda node: axes.get(node, node) if isinstance(node, Axis) else node)


def loads(root: Scalar) -> tuple[Load, ...]:
    """All loads in an expression, once each."""
    return tuple(node for node in sub_expressions(root) if isinstance(node, Load))


def contains_load(root: Scalar) -> bool:
    """Whether anything is loaded."""
    return any(isinstance(node, Load) for node in sub_expressions(root))


def axes_of(*roots: Scalar) -> tuple[Axis, ...]:
    """All axes in expressions, once each, in order of first use."""
    return tuple(node for node in sub_expressions(*roots) if isinstance(node, Axis))


def transform_loads(root: Scalar, visit: Callable[[Load], Scalar]) -> Scalar:
    """Rewrite loads as they stand (their indices are not rewritten first)."""
    replaced = {node: visit(node) for node in loads(root)}
    return replace_nodes(root, {old: new for old, new in replaced.items() if old is not new})


def replace_nodes(root: Scalar, replacements: Mapping[Scalar, Scalar]) -> Scalar:
    """`root` with some nodes replaced, wherever they are shared; replacements are not entered."""
    if not replacements:
        return root
    done: dict[Scalar, Scalar] = dict(replacements)
    for node in sub_expressions(root):
        if node not in done:
            done[node] = rebuild(node, tuple(done[operand] for operand in operands(node)))
    return done[root]
