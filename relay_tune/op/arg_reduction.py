"""Positions of extremes along axes: argmax, argmin."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.operator import FusionKind, Operator, define
from relay_tune.op.elements import Array, integer_shape, load_at, number
from relay_tune.op.reduction_axes import ReduceAttributes, Reduction, axes_of, finished
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, binary, cast, select
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.tensor.size import surely_less
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.typing.relations.reduction import arg_reduce

_INT32_COUNT = 2**31 - 1


@dataclass(frozen=True)
class ArgReduceAttributes(ReduceAttributes):
    """Attributes of argmax and argmin, besides those of a reduction.

    Attributes:
        select_last_index: whether the last of equal elements counts instead of the first.
    """

    select_last_index: bool = False


def _extreme(operation: str, reduction: Reduction) -> Computed:
    """The extreme values, with the reduced axes kept as size 1."""
    data = reduction.data
    shape = [1 if axis in reduction.axes else size for axis, size in enumerate(data.shape)]
    return compute(
        f"arg{operation}_value",
        shape,
        lambda *output: reduction.reduce(operation, reduction.load(output)),
    )


def _position(
    operation: str, type_: Any, reduction: Reduction, extreme: Tensor, last: bool
) -> Computed:
    """The first (last) position at which the data has its extreme value; NaN is extreme."""
    dtype = "int32" if surely_less(reduction.count, _INT32_COUNT + 1) else "int64"
    nowhere = number(-1 if last else reduction.count - 1, dtype)

    def body(*output: Scalar) -> Scalar:
        value = reduction.load(output)
        found = binary("eq", value, load_at(extreme, value.indices))
        if is_float(value.dtype):
            found = binary("or", found, binary("ne", value, value))
        position = select(found, cast(reduction.position(), dtype), nowhere)
        return reduction.reduce("max" if last else "min", position)

    return compute(f"arg{operation}_position", integer_shape(type_), body)


def _arg_operator(
    name: str, operation: str, reference: Callable[..., Any], documentation: str
) -> Operator:
    def computation(attributes: Any, inputs: Any, types: Any) -> list[Any]:
        (data,) = inputs
        axes = axes_of(attributes, data.shape)
        extreme = _extreme(operation, Reduction(data, axes))
        position = _position(
            operation, types[0], Reduction(data, axes), extreme, attributes.select_last_index
        )
        return [finished(name, position, types[0].dtype)]

    def meaning(attributes: ArgReduceAttributes, data: Array) -> Array:
        axes = axes_of(attributes, data.shape)
        kept = [axis for axis in range(data.ndim) if axis not in axes]
        sizes = [data.shape[axis] for axis in kept]
        rows = data.transpose([*kept, *axes]).reshape(
            *sizes, prod(data.shape[axis] for axis in axes)
        )
        if attributes.select_last_index:
            positions = rows.shape[-1] - 1 - reference(rows[..., ::-1], axis=-1)
        else:
            positions = reference(rows, axis=-1)
        shape = [1 if axis in axes else size for axis, size in enumerate(data.shape)]
        result = np.asarray(positions).astype(np.int64)
        return result.reshape(shape) if attributes.keepdims else result

    return define(
        name=name,
        arguments=("data",),
        relation=arg_reduce,
        kind=FusionKind.REDUCTION,
        attributes=ArgReduceAttributes,
        compute=computation,
        reference=meaning,
        documentation=documentation,
    )


argmax = _arg_operator(
    "argmax", "max", np.argmax, "The row-major position of the greatest element over axes, int64."
)
argmin = _arg_operator(
    "argmin", "min", np.argmin, "The row-major position of the least element over axes, int64."
)
