"""Running sums and products: cumsum, cumprod."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, Operator, define
from relay_tune.op.elements import Array, integer_shape, number, wide_dtype
from relay_tune.op.reshape_index import reshaped_tensor
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import binary, cast
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.scalar_semantics import convert, numpy_dtype
from relay_tune.tensor.tensor import procedure
from relay_tune.typing.relations.sorting import cumulative


@dataclass(frozen=True)
class ScanAttributes(Attributes):
    """Attributes of cumsum and cumprod.

    Attributes:
        axis: the axis along which elements are joined; None: the flattened data.
        dtype: the element type of the result; empty: that of the data.
        exclusive: whether the element itself is left out, so that the first is 0 or 1.
    """

    axis: int | None = None
    dtype: str | None = None
    exclusive: bool = False


def _scan(operation: str, start: int) -> Callable[[Any, Any, Any], Sequence[Any]]:
    def computation(attributes: ScanAttributes, inputs: Any, types: Any) -> Sequence[Any]:
        (data,) = inputs
        shape, dtype = integer_shape(types[0]), types[0].dtype
        axis = 0 if attributes.axis is None else attributes.axis % data.rank
        if attributes.axis is None:
            data = reshaped_tensor("flatten", data, shape)
        wide = wide_dtype(dtype)

        def write(builder: LoopBuilder, source: Buffer, target: Buffer) -> None:
            total = builder.local("total", (), wide)
            with ExitStack() as stack:
                outer = [
                    stack.enter_context(builder.loop(f"i{n}", extent if n != axis else 1))
                    for n, extent in enumerate(shape)
                ]
                builder.store(total, (), number(start, wide))
                with builder.loop("step", shape[axis]) as step:
                    position = (*outer[:axis], step, *outer[axis + 1 :])
                    value = cast(source[position], wide)
                    if attributes.exclusive:
                        builder.store(target, position, cast(total[()], dtype))
                    builder.store(total, (), binary(operation, total[()], value))
                    if not attributes.exclusive:
                        builder.store(target, position, cast(total[()], dtype))

        return procedure(f"scan_{operation}", [data], [(shape, dtype)], write)

    return computation


def _scan_operator(
    name: str, operation: str, start: int, accumulate: Callable[..., Any], documentation: str
) -> Operator:
    def meaning(attributes: ScanAttributes, data: Array) -> Array:
        dtype = attributes.dtype or data.dtype.name
        wide = convert(data, wide_dtype(dtype))
        if attributes.axis is None:
            wide = wide.reshape(-1)
        axis = attributes.axis or 0
        with np.errstate(all="ignore"):
            totals = np.asarray(accumulate(wide, axis=axis, dtype=wide.dtype))
        if attributes.exclusive:
            totals = np.roll(totals, 1, axis)
            first = [slice(None)] * totals.ndim
            first[axis] = slice(0, 1)
            totals[tuple(first)] = start
        return totals.astype(numpy_dtype(dtype))

    return define(
        name=name,
        arguments=("data",),
        relation=cumulative,
        kind=FusionKind.OPAQUE,
        attributes=ScanAttributes,
        compute=_scan(operation, start),
        reference=meaning,
        documentation=documentation,
    )


cumsum = _scan_operator(
    "cumsum", "add", 0, np.cumsum, "The sum of each element and all before it along an axis."
)
cumprod = _scan_operator(
    "cumprod",
    "mul",
    1,
    np.cumprod,
    "The product of each element and all before it along an axis.",
)
