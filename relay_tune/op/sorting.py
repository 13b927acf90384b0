"""Sorting along an axis: sort, argsort, topk; and searchsorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.ir.types import TensorType
from relay_tune.op.elements import Array, integer_shape
from relay_tune.op.heap_selection import LEAST_PASSED_OVER, selected_tensors
from relay_tune.op.merge_sort import sorted_tensors
from relay_tune.op.reduction_axes import wide_array
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Axis, Scalar, Tensor, binary, cast, reduce
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import ProcedureOutput, compute
from relay_tune.typing.relations.sorting import argsort as argsort_relation
from relay_tune.typing.relations.sorting import searchsorted as searchsorted_relation
from relay_tune.typing.relations.sorting import sort as sort_relation
from relay_tune.typing.relations.sorting import topk as topk_relation


@dataclass(frozen=True)
class SortAttributes(Attributes):
    """Attributes of sort.

    Attributes:
        axis: the axis along which elements are sorted.
        is_ascend: whether the least comes first.
    """

    axis: int = -1
    is_ascend: bool = True


@dataclass(frozen=True)
class ArgsortAttributes(SortAttributes):
    """Attributes of argsort, besides those of sort.

    Attributes:
        dtype: the element type of the positions.
    """

    dtype: str = "int32"


@dataclass(frozen=True)
class TopkAttributes(Attributes):
    """Attributes of topk.

    Attributes:
        k: how many elements are kept; less than 1: all.
        axis: the axis along which elements are chosen.
        ret_type: "values", "indices", or "both" for a tuple of them.
        is_ascend: whether the least elements are kept instead of the greatest.
        dtype: the element type of the indices.
    """

    k: int = 1
    axis: int = -1
    ret_type: str = "both"
    is_ascend: bool = False
    dtype: str = "int32"


@dataclass(frozen=True)
class SearchsortedAttributes(Attributes):
    """Attributes of searchsorted.

    Attributes:
        right: whether the position is behind equal elements instead of before them.
        dtype: the element type of the positions.
    """

    right: bool = False
    dtype: str = "int32"


def stable_order(data: Array, axis: int, ascending: bool) -> Array:
    """The positions that sort `data`: equal elements in their order, NaN as the greatest."""
    keys = wide_array(data)  # numpy knows where NaN of its own types belongs
    if ascending:
        return np.argsort(keys, axis=axis, kind="stable")
    mirrored = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
    return np.flip(data.shape[axis] - 1 - mirrored, axis)


def _sort(attributes: SortAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    axis = attributes.axis % data.rank
    ascending = bool(attributes.is_ascend)
    return [sorted_tensors("sort", data, axis, data.shape[axis], ascending, INDEX)[0]]


def _sort_reference(attributes: SortAttributes, data: Array) -> Array:
    order = stable_order(data, attributes.axis, bool(attributes.is_ascend))
    return np.take_along_axis(data, order, attributes.axis)


def _argsort(attributes: ArgsortAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    axis = attributes.axis % data.rank
    ascending, dtype = bool(attributes.is_ascend), attributes.dtype
    return [sorted_tensors("argsort", data, axis, data.shape[axis], ascending, dtype)[1]]


def _argsort_reference(attributes: ArgsortAttributes, data: Array) -> Array:
    order = stable_order(data, attributes.axis, bool(attributes.is_ascend))
    return order.astype(numpy_dtype(attributes.dtype))


def topk_elements(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    """The computation of topk, and of dyn.topk, whose second input the sizes tell."""
    data = inputs[0]
    axis = attributes.axis % data.rank
    ascending, dtype = bool(attributes.is_ascend), attributes.dtype
    found = [
        _first_sorted(data, axis, integer_shape(type_)[axis], ascending, dtype)
        for type_ in dict.fromkeys(TensorType(type_.shape, data.dtype) for type_ in types)
    ]
    # sizes that are found when the program runs have a name for each result
    return _asked_for(attributes, (found[0][0], found[-1][1]))


def _first_sorted(
    data: Tensor, axis: int, kept: int, ascending: bool, dtype: str
) -> tuple[ProcedureOutput, ...]:
    """The first `kept` elements of a sorted axis, and where they stood.

    Axes of open length are taken for long ones: where all of a short one is kept, the heap takes a
    fifth longer than sorting, and 100 of 8400 floats take a hundredth.
    """
    size = data.shape[axis]
    if is_symbolic(kept) or kept < 1:
        return sorted_tensors("topk", data, axis, kept, ascending, dtype)
    if is_symbolic(size) or kept * LEAST_PASSED_OVER <= size:
        return selected_tensors(data, axis, kept, ascending, dtype)
    return sorted_tensors("topk", data, axis, kept, ascending, dtype)


def _asked_for(attributes: Any, both: Any) -> list[Any]:
    values, indices = both
    match attributes.ret_type:
        case "values":
            return [values]
        case "indices":
            return [indices]
        case _:
            return [values, indices]


def topk_reference(attributes: Any, data: Array, k: int) -> Any:
    """The `k` first elements and positions (all if k < 1), as `ret_type` says."""
    axis = attributes.axis % data.ndim
    order = stable_order(data, axis, bool(attributes.is_ascend))
    kept = np.take(order, np.arange(k if k >= 1 else data.shape[axis]), axis)
    values = np.take_along_axis(data, kept, axis)
    found = _asked_for(attributes, (values, kept.astype(numpy_dtype(attributes.dtype))))
    return tuple(found) if len(found) == 2 else found[0]


def _topk_reference(attributes: TopkAttributes, data: Array) -> Any:
    return topk_reference(attributes, data, attributes.k)


def _searchsorted(attributes: SearchsortedAttributes, inputs: Any, types: Any) -> list[Any]:
    """The position is the number of elements that come before the value."""
    sequence, values = inputs
    dtype = types[0].dtype
    position = Axis("r0", sequence.shape[-1], dtype=INDEX)

    def element(*output: Scalar) -> Scalar:
        row = output[: sequence.rank - 1]
        before = binary(
            "le" if attributes.right else "lt", sequence[(*row, position)], values[output]
        )
        return reduce("sum", [position], cast(before, dtype))

    return [compute("searchsorted", integer_shape(types[0]), element)]


def _searchsorted_reference(
    attributes: SearchsortedAttributes, sequence: Array, values: Array
) -> Array:
    side = np.less_equal if attributes.right else np.less
    rows = sequence if sequence.ndim == 1 else sequence[..., None, :]
    before = side(rows, values[..., None])
    return np.asarray(before.sum(axis=-1)).astype(numpy_dtype(attributes.dtype))


sort = define(
    name="sort",
    arguments=("data",),
    relation=sort_relation,
    kind=FusionKind.OPAQUE,
    attributes=SortAttributes,
    compute=_sort,
    reference=_sort_reference,
    documentation="The data sorted along an axis; NaN counts as greater than all else.",
)
argsort = define(
    name="argsort",
    arguments=("data",),
    relation=argsort_relation,
    kind=FusionKind.OPAQUE,
    attributes=ArgsortAttributes,
    compute=_argsort,
    reference=_argsort_reference,
    documentation="The positions that sort the data; equal elements keep their order.",
)
topk = define(
    name="topk",
    arguments=("data",),
    relation=topk_relation,
    kind=FusionKind.OPAQUE,
    attributes=TopkAttributes,
    compute=topk_elements,
    reference=_topk_reference,
    documentation=(
        "The k greatest (or least) elements along an axis in order, and their positions; "
        "of equal elements the first ones; NaN counts as greater than all else."
    ),
)
searchsorted = define(
    name="searchsorted",
    arguments=("sorted_sequence", "values"),
    relation=searchsorted_relation,
    kind=FusionKind.REDUCTION,
    attributes=SearchsortedAttributes,
    compute=_searchsorted,
    reference=_searchsorted_reference,
    documentation=(
        "For each value the position in the sorted last axis of the sequence where it "
        "keeps the order; a sequence of one axis serves all values."
    ),
)
