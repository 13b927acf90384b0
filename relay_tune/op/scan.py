"""Running sums and products: cumsum, cumprod."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, Operator, define
from relay_tune.op.elements import Array, integer_shape, number, wide_dtype
from relay_tune.op.reshape_index import reshaped_tensor
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, binary, cast, index_value
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.scalar_semantics import convert, numpy_dtype
from relay_tune.tensor.tensor import procedure
from relay_tune.typing.relations.sorting import cumulative

_LANES = 32
"""How many neighbours are joined at a time along an axis before the last."""


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


@dataclass(frozen=True)
class _Sums:
    """What writes running sums.

    Attributes:
        builder: where statements go.
        source: what is joined.
        target: the results.
        exclusive: whether the element itself is left out.
        operation: what joins a sum and an element.
        start: the sum of nothing.
    """

    builder: LoopBuilder
    source: Buffer
    target: Buffer
    exclusive: bool
    operation: str
    start: int

    def along(self, axis: int, position: Sequence[Scalar]) -> None:
        """The sums at a position, of which the element along `axis` is yet to come."""
        total = self.builder.local("total", (), wide_dtype(self.target.dtype))
        self.builder.store(total, (), number(self.start, total.dtype))
        with self.builder.loop("step", self.target.shape[axis]) as step:
            self._next(total, (), (*position[:axis], step, *position[axis:]))

    def of_lanes(self, axis: int, position: Sequence[Scalar]) -> None:
        """The sums of neighbours on the last axis; the last of `position` is their block."""
        totals = self.builder.local("totals", (_LANES,), wide_dtype(self.target.dtype))
        *outer, block = position
        with self.builder.vector("lane", _LANES) as lane:
            self.builder.store(totals, (lane,), number(self.start, totals.dtype))
        steps = self.builder.loop("step", self.target.shape[axis])
        with steps as step, self.builder.vector("lane", _LANES) as lane:
            indices = (*outer[:axis], step, *outer[axis:], block * _LANES + lane)
            self._next(totals, (lane,), indices)

    def _next(self, totals: Buffer, at: tuple[Scalar, ...], indices: tuple[Scalar, ...]) -> None:
        """Join one more element with its sum."""
        joined = binary(self.operation, totals[at], cast(self.source[indices], totals.dtype))
        if self.exclusive:
            self.builder.store(self.target, indices, cast(totals[at], self.target.dtype))
        self.builder.store(totals, at, joined)
        if not self.exclusive:
            self.builder.store(self.target, indices, cast(totals[at], self.target.dtype))


@contextmanager
def _outer(
    builder: LoopBuilder, shape: Sequence[Any], axis: int, inner: Sequence[Any]
) -> Iterator[tuple[Scalar, ...]]:
    """Loops over the axes before `axis`, and over `inner` extents behind it."""
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(builder.loop(f"i{n}", extent))
            for n, extent in enumerate((*shape[:axis], *inner))
        )


def _scan(operation: str, start: int) -> Callable[[Any, Any, Any], Sequence[Any]]:
    def computation(attributes: ScanAttributes, inputs: Any, types: Any) -> Sequence[Any]:
        (data,) = inputs
        shape, dtype = integer_shape(types[0]), types[0].dtype
        axis = 0 if attributes.axis is None else attributes.axis % data.rank
        if attributes.axis is None:
            data = reshaped_tensor("flatten", data, shape)

        def write(builder: LoopBuilder, source: Buffer, target: Buffer) -> None:
            sums = _Sums(builder, source, target, attributes.exclusive, operation, start)
            if axis == len(shape) - 1:
                with _outer(builder, shape, axis, shape[axis + 1 :]) as position:
                    sums.along(axis, position)
                return
            blocks = binary("floordiv", index_value(shape[-1]), _LANES)
            with _outer(builder, shape, axis, [*shape[axis + 1 : -1], blocks]) as position:
                sums.of_lanes(axis, position)
            rest = builder.loop("last", shape[-1], blocks * _LANES)
            with _outer(builder, shape, axis, shape[axis + 1 : -1]) as position, rest as last:
                sums.along(axis, (*position, last))

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
