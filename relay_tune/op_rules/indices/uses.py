"""Which arguments of operators are indices, and of which axes: what checks of them ask.

An index of an axis with n elements is one of -n .. n - 1, negative ones count from the end; all
others are errors. Operators that give every integer a meaning are not in the table, such as
`one_hot`, and `take` in its modes that say what becomes of other indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.index_check import index_subject, require_indices
from relay_tune.op_rules.matching import attributes_of
from relay_tune.op_rules.table import OperatorTable
from relay_tune.quick_dataclass import dataclass

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


def _always(_: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class IndexRule:
    """The indices among the arguments of an operator, and whether they are checked.

    Attributes:
        uses: gives them for the attributes and the argument types of a call.
        is_checked: whether, with these attributes, an index out of range is an error.
    """

    uses: Callable[[Any, Sequence[Type]], Sequence[IndexUse]]
    is_checked: Callable[[Any], bool] = _always


def index_uses(node: Call) -> Sequence[IndexUse]:
    """The indices among the arguments of a call in a typed program, where they are checked."""
    types = [argument.type for argument in node.arguments]
    known = [type_ for type_ in types if type_ is not None]
    return _uses(node, known) if len(known) == len(types) else ()


def can_fail(node: Expr) -> bool:
    """Whether a node is a call that ends the program where an index is out of range."""
    rule = INDICES.rule_of(node)
    return rule is not None and isinstance(node, Call) and rule.is_checked(attributes_of(node))


def require_valid_indices(call: Call, arguments: Sequence[Any]) -> None:
    """IndexRangeError unless all indices among arguments (arrays and tuples) are valid."""
    if INDICES.rule_of(call) is None:
        return
    for use in _uses(call, [value_type(value) for value in arguments]):
        data = part_at(arguments, use.data)
        shape = sizes_in(data) if use.is_shape else data.shape
        sizes = (prod(shape),) if use.axes is None else tuple(shape[axis] for axis in use.axes)
        indices = part_at(arguments, use.indices)
        require_indices(indices, sizes, use.coordinates, index_subject(call), use.ignored)


def _uses(call: Call, types: Sequence[Type]) -> Sequence[IndexUse]:
    rule = INDICES.rule_of(call)
    if rule is None or not rule.is_checked(attributes_of(call)):
        return ()
    return rule.uses(attributes_of(call), types)


def sizes_in(shape: Any) -> tuple[int, ...]:
    """The sizes that an array gives as its elements; negative ones count as 0."""
    return tuple(max(int(size), 0) for size in shape)


def part_at(values: Sequence[Any], path: Path) -> Any:
    """The value, or its field, at a path."""
    value = values[path[0]]
    return value if len(path) == 1 else value[path[1]]


def value_type(value: Any) -> Type:
    """The type of an array, or of a tuple of arrays."""
    if isinstance(value, tuple):
        return TupleType(tuple(value_type(field) for field in value))
    array = np.asarray(value)
    return TensorType(array.shape, array.dtype.name)


def _sizes(type_: Type) -> tuple[Dim, ...]:
    return type_.shape if isinstance(type_, TensorType) else ()


def _rank(type_: Type) -> int:
    return len(_sizes(type_))


def _take(attributes: Any, types: Sequence[Type]) -> Sequence[IndexUse]:
    axis = attributes.axis
    return (IndexUse((1,), (0,), None if axis is None else (axis % _rank(types[0]),)),)


def _raises(attributes: Any) -> bool:
    return bool(attributes.mode == "raise")


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


def _none(attributes: Any, types: Sequence[Type]) -> Sequence[IndexUse]:
    """No indices are left to check: the check itself."""
    return ()


INDICES: OperatorTable[IndexRule] = OperatorTable(
    {
        "take": IndexRule(_take, is_checked=_raises),
        "gather": IndexRule(_along_axis),
        "gather_nd": IndexRule(_coordinates),
        "scatter_elements": IndexRule(_along_axis),
        "scatter_nd": IndexRule(_coordinates),
        "adv_index": IndexRule(_one_each),
        "invert_permutation": IndexRule(_permutation),
        "nn.nll_loss": IndexRule(_target_classes),
        "unravel_index": IndexRule(_flat_indices),
        "check_indices": IndexRule(_none),
    }
)
