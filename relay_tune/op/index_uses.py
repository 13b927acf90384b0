"""Which arguments of operators are indices, and of which axes: the table of all that check them.

An index of an axis with n elements is one of -n .. n - 1, negative ones count from the end; all
others are errors. Operators that give every integer a meaning are not in the table, such as
`one_hot`, and `take` in its modes that say what becomes of other indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from relay_tune.errors import NodeSpan
from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.index_check import check_indices, require_indices

Path = tuple[int, ...]
"""The number of an argument and, where it is a tuple, of its field."""


@dataclass(frozen=True, slots=True)
class IndexUse:
    """Indices among the arguments of a call.

    Attributes:
        indices: where they are.
        data: where the tensor is that they are indices of, or its shape.
        axes: its axes, one for each coordinate; None: that of its flattened elements.
        coordinates: the axis of the indices along which coordinates stand; None: there is one.
        ignored: the index that means no element, and is none out of range; None: there is none.
        is_shape: whether the elements of `data` are the shape of the tensor, which is flattened.
    """

    indices: Path
    data: Path
    axes: tuple[int, ...] | None
    coordinates: int | None = None
    ignored: int | None = None
    is_shape: bool = False


Rule = Callable[[Any, Sequence[Type]], Sequence[IndexUse]]
"""rule(attributes, argument types) -> the indices among the arguments."""


def index_uses(operator: Operator, attributes: Any, types: Sequence[Type]) -> Sequence[IndexUse]:
    """The indices among the arguments of a call of an operator."""
    rule = _RULES.get(operator.name)
    return () if rule is None else rule(attributes, types)


def require_valid_indices(call: Call, arguments: Sequence[Any]) -> None:
    """IndexRangeError unless all indices among arguments (arrays and tuples) are valid."""
    operator = call.callee
    if not isinstance(operator, Operator) or operator.name not in _RULES:
        return
    attributes = call.attributes if call.attributes is not None else operator.attributes()
    for use in index_uses(operator, attributes, [_type_of(value) for value in arguments]):
        data = part_at(arguments, use.data)
        shape = sizes_in(data) if use.is_shape else data.shape
        sizes = (prod(shape),) if use.axes is None else tuple(shape[axis] for axis in use.axes)
        indices = part_at(arguments, use.indices)
        require_indices(indices, sizes, use.coordinates, index_subject(call), use.ignored)


def sizes_in(shape: Any) -> tuple[int, ...]:
    """The sizes that an array gives as its elements; negative ones count as 0."""
    return tuple(max(int(size), 0) for size in shape)


def can_fail(node: Expr) -> bool:
    """Whether a node is a call that ends the program where an index is out of range."""
    if not isinstance(node, Call) or not isinstance(node.callee, Operator):
        return False
    if node.callee.name == "take":
        return getattr(node.attributes, "mode", "clip") == "raise"
    return node.callee.name in _RULES or node.callee is check_indices


def index_subject(call: Call) -> str:
    """Whose indices those of a call are, in the user's words."""
    if isinstance(call.span, NodeSpan):
        return str(call.span)
    name = call.callee.name if isinstance(call.callee, Operator) else "a call"
    return name if call.span is None else f"{name} at {call.span}"


def part_at(values: Sequence[Any], path: Path) -> Any:
    """The value, or its field, at a path."""
    value = values[path[0]]
    return value if len(path) == 1 else value[path[1]]


def _type_of(value: Any) -> Type:
    if isinstance(value, tuple):
        return TupleType(tuple(_type_of(field) for field in value))
    array = np.asarray(value)
    return TensorType(array.shape, array.dtype.name)


def _sizes(type_: Type) -> tuple[Dim, ...]:
    return type_.shape if isinstance(type_, TensorType) else ()


def _rank(type_: Type) -> int:
    return len(_sizes(type_))


def _take(attributes: Any, types: Sequence[Type]) -> Sequence[IndexUse]:
    if attributes.mode != "raise":
        return ()
    axis = attributes.axis
    return (IndexUse((1,), (0,), None if axis is None else (axis % _rank(types[0]),)),)


def _along_axis(attributes: Any, types: Sequence[Type]) -> Sequence[IndexUse]:
    return (IndexUse((1,), (0,), (attributes.axis % _rank(types[0]),)),)


def _coordinates(attributes: Any, types: Sequence[Type]) -> Sequence[IndexUse]:
    indices = types[1]
    first = getattr(attributes, "batch_dims", 0)
    count = indices.shape[0] if isinstance(indices, TensorType) else None
    if not isinstance(count, int):
        count = getattr(attributes, "index_rank", None) or 0
    return (IndexUse((1,), (0,), tuple(range(first, first + count)), 0),)


def _one_each(attributes: Any, types: Sequence[Type]) -> Sequence[IndexUse]:
    (fields,) = types
    count = len(fields.fields) - 1 if isinstance(fields, TupleType) else 0
    return tuple(IndexUse((0, n + 1), (0, 0), (n,)) for n in range(count))


def _permutation(attributes: Any, types: Sequence[Type]) -> Sequence[IndexUse]:
    return (IndexUse((0,), (0,), (0,)),)


def _target_classes(attributes: Any, types: Sequence[Type]) -> Sequence[IndexUse]:
    classes = IndexUse((1,), (0,), (1,), ignored=attributes.ignore_index)
    if _sizes(types[0])[1:2] == _sizes(types[2]) != (UNKNOWN,):
        return (classes,)
    return classes, IndexUse((1,), (2,), (0,), ignored=attributes.ignore_index)


def _flat_indices(attributes: Any, types: Sequence[Type]) -> Sequence[IndexUse]:
    return (IndexUse((0,), (1,), None, is_shape=True),)


_RULES: Mapping[str, Rule] = {
    "take": _take,
    "gather": _along_axis,
    "gather_nd": _coordinates,
    "scatter_elements": _along_axis,
    "scatter_nd": _coordinates,
    "adv_index": _one_each,
    "invert_permutation": _permutation,
    "nn.nll_loss": _target_classes,
    "unravel_index": _flat_indices,
}
