"""Forward mode through one scalar expression: how its value changes with what it loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay_tune.tensor.derivative.activity import active_nodes
from relay_tune.tensor.derivative.slopes import BINARY_SLOPES, UNARY_SLOPES, change_dtype, widened
from relay_tune.tensor.expression import (
    Binary,
    Cast,
    Load,
    Scalar,
    Select,
    Tensor,
    Unary,
    cast,
    literal,
    select,
)
from relay_tune.tensor.walk import sub_expressions


def scalar_tangent(root: Scalar, tangents: Mapping[Tensor, Tensor]) -> Scalar | None:
    """The change of `root`, given tensors of changes of what it loads; None if it is constant."""
    active = active_nodes(root, tangents.__contains__)
    if root not in active:
        return None
    changes: dict[Scalar, Scalar] = {}
    for node in sub_expressions(root):
        if node in active:
            changes[node] = _change(node, changes.get, tangents)
    return changes[root]


def _change(
    node: Scalar,
    known: Callable[[Scalar], Scalar | None],
    tangents: Mapping[Tensor, Tensor],
) -> Scalar:
    match node:
        case Load():
            return widened(tangents[node.tensor][node.indices])
        case Unary(operand=x):
            change = known(x)
            assert change is not None
            return UNARY_SLOPES[node.operation](change, widened(x), widened(node))
        case Cast(operand=x):
            change = known(x)
            assert change is not None
            return cast(change, change_dtype(node.dtype))
        case Select():
            zero = literal(0.0, change_dtype(node.dtype))
            first, second = known(node.if_true), known(node.if_false)
            return select(node.condition, first or zero, second or zero)
    assert isinstance(node, Binary)
    return _binary_change(node, known(node.left), known(node.right))


def _binary_change(node: Binary, left: Scalar | None, right: Scalar | None) -> Scalar:
    values = (widened(node.left), widened(node.right), widened(node))
    parts = [
        slope(change, *values)
        for change, slope in zip((left, right), BINARY_SLOPES[node.operation], strict=True)
        if change is not None and slope is not None
    ]
    return parts[0] + parts[1] if len(parts) == 2 else parts[0]
