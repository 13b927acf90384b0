"""nn.adaptive_max_pool1d/2d/3d, nn.adaptive_avg_pool1d/2d/3d: pools to a given size.

Element i of an axis that shrinks from `size` to `output` covers the elements from
floor(i * size / output) to ceil((i + 1) * size / output), exclusive. Where `output` divides `size`
that is an ordinary pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.op.elements import Array
from relay_tune.op.layout_indices import (
    ReductionAxes,
    cast_tensor,
    compute_elements,
    letter_positions,
    letter_sizes,
    load_at,
    quotient,
    spatial_letters,
    whole,
)
from relay_tune.op.nn.pool import define_pools, layouts_of, stored_result, whole_data
from relay_tune.op.nn.window_reduction import divide_array, divide_by_count, lowest_value, sum_dtype
from relay_tune.op.nn.windows import conjunction
from relay_tune.op.spatial_attributes import by_spatial_axes
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, binary, cast, literal, reduce, select
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.size import ceiling_quotient, is_symbolic
from relay_tune.typing.relations.pooling import adaptive_pool as adaptive_pool_relation
from relay_tune.typing.relations.support import as_tuple


@dataclass(frozen=True)
class AdaptivePoolAttributes(Attributes):
    """Attributes of a pool to a given size.

    Attributes:
        output_size: spatial sizes of the result; None or empty: those of the data.
        layout: layout of the data, such as NCHW, NHWC, NCHW16c.
        out_layout: layout of the result; empty: that of the data.
    """

    output_size: int | tuple[int, ...] | None = None
    layout: str = "NC*"
    out_layout: str = ""


AdaptivePool1DAttributes, AdaptivePool2DAttributes, AdaptivePool3DAttributes = by_spatial_axes(
    AdaptivePoolAttributes
)


@dataclass(frozen=True, slots=True)
class _Shrinking:
    """One spatial axis of `size` elements that becomes `output` elements."""

    size: int
    output: int

    @property
    def is_even(self) -> bool:
        """Whether all windows have one size and none overlap."""
        return self.size % self.output == 0

    def bounds(self, position: int) -> tuple[int, int]:
        """Begin and end of the window of an output element."""
        return (
            position * self.size // self.output,
            -(-(position + 1) * self.size // self.output),
        )

    @property
    def longest(self) -> int:
        """The size of the largest window, or one that is no less where only a run knows it."""
        if is_symbolic(self.size) and self.output > 2:
            return ceiling_quotient(self.size, self.output) + 1
        bounds = [self.bounds(position) for position in range(self.output)]
        return max(end - begin for begin, end in bounds)

    def begin(self, position: Scalar) -> Scalar:
        """The first element of the window of an output element."""
        if self.is_even:
            return position * (self.size // self.output)
        return quotient(position * self.size, self.output)

    def count(self, position: Scalar) -> Scalar | int:
        """The size of the window of an output element."""
        if self.is_even:
            return self.size // self.output
        end = quotient((position + 1) * self.size + (self.output - 1), self.output)
        return end - self.begin(position)


def _shrinking_axes(attributes: Any, data: Tensor, shape: Sequence[int]) -> list[_Shrinking]:
    layout, out_layout = layouts_of(attributes)
    sizes, outputs = letter_sizes(data.shape, layout), letter_sizes(shape, out_layout)
    return [_Shrinking(sizes[letter], outputs[letter]) for letter in spatial_letters(layout)]


def _reduce_adaptive(operation: str, attributes: Any, data: Tensor, shape: Sequence[int]) -> Tensor:
    """`sum` or `max` over the window of each element of the result."""
    layout, out_layout = layouts_of(attributes)
    axes = _shrinking_axes(attributes, data, shape)
    dtype = sum_dtype(data.dtype) if operation == "sum" else data.dtype
    neutral = literal(0 if operation == "sum" else lowest_value(dtype), dtype)

    def element(*indices: Scalar) -> Scalar:
        output = letter_positions(out_layout, indices)
        reduction = ReductionAxes()
        position = {"N": output["N"], "C": output["C"]}
        inside: list[Scalar] = []
        for letter, axis in zip(spatial_letters(layout), axes, strict=True):
            tap = reduction.add(f"k{letter.lower()}", axis.longest)
            count = axis.count(whole(output[letter]))
            if isinstance(count, Scalar):
                inside.append(binary("lt", tap, count))
            position[letter] = axis.begin(whole(output[letter])) + tap
        value = cast(load_at(data, layout, position), dtype)
        condition = conjunction(inside)
        body = value if condition is None else select(condition, value, neutral)
        return reduce(operation, reduction.axes, body)

    return compute_elements("windows", shape, element)


def _max(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    return [_reduce_adaptive("max", attributes, inputs[0], types[0].shape)]


def _avg(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    (data,) = inputs
    layout, out_layout = layouts_of(attributes)
    axes = _shrinking_axes(attributes, data, types[0].shape)
    total = _reduce_adaptive("sum", attributes, data, types[0].shape)

    def element(*indices: Scalar) -> Scalar:
        output = letter_positions(out_layout, indices)
        counts = [
            axis.count(whole(output[letter]))
            for letter, axis in zip(spatial_letters(layout), axes, strict=True)
        ]
        return divide_by_count(total[indices], counts)

    return [cast_tensor(compute_elements("average", types[0].shape, element), data.dtype)]


def _max_reference(attributes: Any, data: Array) -> Array:
    result = whole_data(attributes, data)
    for axis, size in enumerate(_output_sizes(attributes, result), start=2):
        windows = _windows_along(result, axis, size)
        result = np.stack([window.max(axis=axis) for window in windows], axis=axis)
    return stored_result(attributes, result)


def _avg_reference(attributes: Any, data: Array) -> Array:
    """The sums of sums along the axes, divided by the product of the window sizes."""
    result = whole_data(attributes, data).astype(numpy_dtype(sum_dtype(data.dtype.name)))
    count: Array = np.ones((), "int64")
    for axis, size in enumerate(_output_sizes(attributes, result), start=2):
        windows = _windows_along(result, axis, size)
        count = count[..., None] * np.array([window.shape[axis] for window in windows])
        totals = [window.sum(axis=axis, dtype=result.dtype) for window in windows]
        result = np.stack(totals, axis=axis)
    return stored_result(attributes, divide_array(result, count).astype(data.dtype))


def _output_sizes(attributes: Any, values: Array) -> tuple[int, ...]:
    if attributes.output_size is None or attributes.output_size == ():
        return tuple(values.shape[2:])
    return as_tuple(attributes.output_size, values.ndim - 2, "output_size")


def _windows_along(values: Array, axis: int, output: int) -> list[Array]:
    shrinking = _Shrinking(values.shape[axis], output)
    bounds = [shrinking.bounds(position) for position in range(output)]
    return [values[(slice(None),) * axis + (slice(begin, end),)] for begin, end in bounds]


_RECORDS = AdaptivePool1DAttributes, AdaptivePool2DAttributes, AdaptivePool3DAttributes

adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = define_pools(
    "adaptive_max",
    _RECORDS,
    _max,
    _max_reference,
    "maximum of evenly spread windows, to a given spatial size",
    adaptive_pool_relation,
)
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = define_pools(
    "adaptive_avg",
    _RECORDS,
    _avg,
    _avg_reference,
    "average of evenly spread windows, to a given spatial size",
    adaptive_pool_relation,
)
