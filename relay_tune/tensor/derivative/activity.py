"""Which parts of a scalar expression change with the elements of tensors."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.tensor.derivative.refusal import UnderivableError
from relay_tune.tensor.derivative.slopes import BINARY_SLOPES, UNARY_SLOPES
from relay_tune.tensor.expression import (
    Binary,
    Cast,
    Load,
    Reduce,
    Reinterpret,
    Scalar,
    Select,
    Tensor,
    Unary,
)
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.tensor.walk import sub_expressions

IsActive = Callable[[Tensor], bool]
"""Whether the elements of a tensor change."""


def active_nodes(root: Scalar, is_active: IsActive) -> set[Scalar]:
    """The nodes that change when the elements of active tensors do, but for jumps.

    Indices and conditions jump only. Raises UnderivableError where bits of a float are read.
    """
    active: set[Scalar] = set()
    for node in sub_expressions(root):
        if isinstance(node, Reinterpret) and node.operand in active:
            raise UnderivableError("The bits of a float have no derivative.")
        if is_float(node.dtype) and _changes(node, active, is_active):
            active.add(node)
    return active


def _changes(node: Scalar, active: set[Scalar], is_active: IsActive) -> bool:
    match node:
        case Load():
            return is_active(node.tensor)
        case Unary():
            return node.operation in UNARY_SLOPES and node.operand in active
        case Binary(left=left, right=right):
            first, second = BINARY_SLOPES.get(node.operation, (None, None))
            return (first is not None and left in active) or (
                second is not None and right in active
            )
        case Select():
            return node.if_true in active or node.if_false in active
        case Cast():
            return node.operand in active
        case Reduce():
            return node.body in active
    return False
