"""Indices that arrive at run time, checked once: index_extent, check_indices.

    take(%table, %ids, mode="raise")       becomes, before fusion,

    %extent = index_extent(%ids);          one number: the index farthest from 0
    %checked = check_indices(%ids, %extent, (), sizes=[1000], subject="node 'words' (Gather)");
    take(%table, %checked, mode="raise")

`index_extent` is a kernel like any other, a reduction. `check_indices` is none: its result is its
first argument, and the program ends with an error where the extent says that an index is outside.
Kernels that read at such indices stay inside of their tensors whatever comes.

An extent is an index i as an unsigned number, 2 i or, for a negative one, -2 i - 1: of an axis with
n elements, the indices -n .. n - 1 are those with an extent below 2 n.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from relay_tune.errors import IndexRangeError, NodeSpan
from relay_tune.ir.expr import Attributes, Call
from relay_tune.ir.operator import FusionKind, Operator, define
from relay_tune.op.elements import Array, elementwise, integer_shape, number
from relay_tune.op.reduction_axes import Reduction
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Scalar, binary, cast, select
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.typing.relations.indexing import check_indices as check_relation
from relay_tune.typing.relations.indexing import index_extent as extent_relation

_SHORT = frozenset({"int8", "int16", "int32", "uint8", "uint16"})
"""Types whose extents have 32 bits."""

FARTHEST = 2**62
"""No tensor has so many elements; unsigned indices beyond it are taken for it."""


@dataclass(frozen=True)
class IndexExtentAttributes(Attributes):
    """Attributes of index_extent.

    Attributes:
        axis: the axis of the indices along which coordinates stand, each with an extent of its own;
            None: all indices have one.
        ignored: the index that means no element, which counts as 0; None: there is none.
    """

    axis: int | None = None
    ignored: int | None = None


@dataclass(frozen=True)
class CheckIndicesAttributes(Attributes):
    """Attributes of check_indices.

    Attributes:
        sizes: how many elements the axis of each coordinate has; -1: the tensor in `data` tells.
        axes: the axis of `data` for each coordinate; None: its flattened elements.
        subject: whose indices they are, for people.
        is_size: whether the tensor in `data` is a number of elements, int64, and not what has them.
    """

    sizes: tuple[int, ...]
    axes: tuple[int, ...] | None = None
    subject: str = "the program"
    is_size: bool = False


def index_subject(call: Call) -> str:
    """Whose indices those of a call are, in the user's words."""
    if isinstance(call.span, NodeSpan):
        return str(call.span)
    name = call.callee.name if isinstance(call.callee, Operator) else "a call"
    return name if call.span is None else f"{name} at {call.span}"


def index_message(subject: str) -> str:
    """The sentence for an index of a subject, such as `take at f.relay:2:4`, that is outside."""
    return f"An index of {subject} is out of range."


def index_error(message: str, index: int, size: int) -> IndexRangeError:
    """The error for an index that an axis of so many elements has not; a sentence comes first."""
    return IndexRangeError(
        f"{message} It is {index}, and the axis has {size} element{'s' * (size != 1)}.",
        remedy=f"Give indices from {-size} to {size - 1}." if size else "Give no indices.",
    )


def index_of(extent: int) -> int:
    """The index that an extent stands for.

    >>> [index_of(extent) for extent in (0, 1, 2, 3)]
    [0, -1, 1, -2]
    """
    return -(extent + 1) // 2 if extent % 2 else extent // 2


def extents(indices: Array, axis: int | None = None, ignored: int | None = None) -> Array:
    """The greatest extent of the indices of all coordinates, uint64; 0 where there are none."""
    if ignored is not None:
        indices = np.where(indices == ignored, indices.dtype.type(0), indices)
    wide = np.minimum(indices, FARTHEST) if indices.dtype == np.uint64 else indices
    codes = wide.astype(np.int64)
    codes = ((codes << 1) ^ (codes >> 63)).view(np.uint64)
    others = tuple(n for n in range(indices.ndim) if axis is None or n != axis % indices.ndim)
    return np.asarray(codes.max(others, initial=0)) if others else codes


def require_indices(
    indices: Array,
    sizes: tuple[int, ...],
    axis: int | None,
    subject: str,
    ignored: int | None = None,
) -> None:
    """IndexRangeError unless all indices but the ignored one are inside.

    Each coordinate on `axis` has a size.
    """
    if not indices.size:
        return
    found = extents(indices, axis, ignored).reshape(-1).tolist()
    for extent, size in zip(found, sizes, strict=True):
        if extent >= 2 * size:
            raise index_error(index_message(subject), index_of(extent), size)


def is_index(index: Scalar, ignored: int) -> Scalar:
    """Whether an index from data is another one than that which means no element."""
    limits = np.iinfo(index.dtype)
    if not limits.min <= ignored <= limits.max:
        return number(True, "bool")
    return binary("ne", index, number(ignored, index.dtype))


def _counted(index: Scalar, ignored: int | None) -> Scalar:
    if ignored is None:
        return index
    return select(is_index(index, ignored), index, number(0, index.dtype))


def _signed(index: Scalar) -> Scalar:
    """An index as int32 where that holds it, so that vectors hold twice as many, or int64."""
    if index.dtype == "uint64":
        index = binary("min", index, number(FARTHEST, "uint64"))
    return cast(index, "int32" if index.dtype in _SHORT else INDEX)


def _extent(attributes: IndexExtentAttributes, inputs: Any, types: Any) -> list[Any]:
    (indices,) = inputs
    kept = None if attributes.axis is None else attributes.axis % indices.rank
    reduction = Reduction(indices, [n for n in range(indices.rank) if n != kept])
    shape = integer_shape(types[0])

    def end(operation: str) -> Computed:
        return compute(
            f"index_{operation}",
            shape,
            lambda *output: reduction.reduce(
                operation, _signed(_counted(reduction.load(output), attributes.ignored))
            ),
        )

    return [elementwise("index_extent", shape, [end("max"), end("min")], _extent_of)]


def _extent_of(greatest: Scalar, least: Scalar) -> Scalar:
    """The extent of the farther one of the greatest and the least index."""
    zero = number(0, INDEX)
    above = binary("max", cast(greatest, INDEX), zero)
    below = binary("max", binary("xor", cast(least, INDEX), number(-1, INDEX)), zero)
    above, below = (binary("shl", cast(side, "uint64"), 1) for side in (above, below))
    negative = binary("lt", cast(least, INDEX), zero)
    return select(negative, binary("max", above, below + 1), above)


def _extent_reference(attributes: IndexExtentAttributes, indices: Array) -> Array:
    return extents(indices, attributes.axis, attributes.ignored)


def _check(attributes: CheckIndicesAttributes, inputs: Any, types: Any) -> list[Any]:
    shape = integer_shape(types[0])
    return [elementwise("check_indices", shape, inputs[:1], lambda index: index)]


def _check_reference(
    attributes: CheckIndicesAttributes, indices: Array, extent: Array, data: tuple[Array, ...]
) -> Array:
    sizes = attributes.sizes
    if data and attributes.is_size:
        sizes = (int(data[0]),)
    elif data:
        shape, axes = data[0].shape, attributes.axes
        sizes = (prod(shape),) if axes is None else tuple(shape[axis] for axis in axes)
    for each, size in zip(extent.reshape(-1).tolist(), sizes, strict=True):
        if indices.size and each >= 2 * size:
            raise index_error(index_message(attributes.subject), index_of(each), size)
    return indices


index_extent = define(
    name="index_extent",
    arguments=("indices",),
    relation=extent_relation,
    kind=FusionKind.REDUCTION,
    attributes=IndexExtentAttributes,
    compute=_extent,
    reference=_extent_reference,
    documentation=(
        "The index i that is farthest from 0, as uint64: 2 i, or -2 i - 1 if it is negative."
    ),
)
check_indices = define(
    name="check_indices",
    arguments=("indices", "extent", "data"),
    relation=check_relation,
    kind=FusionKind.OPAQUE,
    attributes=CheckIndicesAttributes,
    compute=_check,
    reference=_check_reference,
    documentation=(
        "The indices; the program ends with an error where their extent is not below twice "
        "the size of the axis that they are indices of. `data` is a tuple: of the tensor whose "
        "sizes are meant, of a number of elements, or of none where attributes tell them."
    ),
)
