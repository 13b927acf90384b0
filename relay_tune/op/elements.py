"""Building blocks of tensor computations: broadcasting loads, safe indices, wide arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay_tune.ir.operator import Compute
from relay_tune.tensor.expression import INDEX, Load, Number, Scalar, Tensor, binary, cast, literal
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.tensor.size import is_integer, is_symbolic
from relay_tune.tensor.tensor import Computed, compute

Array = np.ndarray[Any, Any]

SHORT_FLOATS = ("float16", "bfloat16")


def integer_shape(type_: Any) -> tuple[int, ...]:
    """The shape of a tensor type whose sizes are numbers or symbolic sizes."""
    return tuple(dim for dim in type_.shape if is_integer(dim))


def load_at(tensor: Tensor, indices: Sequence[Scalar | int]) -> Load:
    """`tensor[indices]`, with the index 0 in dimensions of size 1."""
    pairs = zip(indices, tensor.shape, strict=True)
    return tensor[tuple(0 if size == 1 else index for index, size in pairs)]


def broadcast_load(tensor: Tensor, axes: Sequence[Scalar]) -> Load:
    """The element of `tensor` for an output element at `axes`, aligned from the right."""
    return load_at(tensor, axes[len(axes) - tensor.rank :])


def elementwise(
    name: str, shape: Sequence[int], inputs: Sequence[Tensor], element: Callable[..., Scalar]
) -> Computed:
    """The tensor of `element(a, b, ...)` of the elements of inputs that broadcast to `shape`."""
    return compute(
        name, shape, lambda *axes: element(*(broadcast_load(tensor, axes) for tensor in inputs))
    )


def elementwise_computation(name: str, element: Callable[..., Scalar]) -> Compute:
    """The computation of an operator that is `element(a, b, ...)` of inputs that broadcast."""

    def computation(attributes: Any, inputs: Any, types: Any) -> list[Any]:
        return [elementwise(name, integer_shape(types[0]), inputs, element)]

    return computation


def moved(
    name: str, type_: Any, source: Tensor, place: Callable[..., Sequence[Scalar | int]]
) -> Computed:
    """The tensor of `type_` whose element at the axes is that of `source` at `place(*axes)`.

    Zeros where the source has no elements, so that nothing is read outside of it.
    """
    if 0 in source.shape:
        return compute(name, integer_shape(type_), lambda *axes: number(0, source.dtype))
    return compute(name, integer_shape(type_), lambda *axes: load_at(source, place(*axes)))


def wide_dtype(dtype: str) -> str:
    """The element type to calculate in: short floats lose too much in several steps."""
    return "float32" if dtype in SHORT_FLOATS else dtype


def in_wide(element: Callable[..., Scalar]) -> Callable[..., Scalar]:
    """`element` with short floats widened before, and the result narrowed after it."""

    def widened(*operands: Scalar) -> Scalar:
        dtype = operands[0].dtype
        return cast(element(*(cast(value, wide_dtype(value.dtype)) for value in operands)), dtype)

    return widened


def number(value: Number, dtype: str) -> Scalar:
    """A literal of an element type: the value as bool, int or float, whichever fits."""
    if is_symbolic(value):
        return literal(value, dtype)
    if dtype == "bool":
        return literal(bool(value), dtype)
    return literal(float(value) if is_float(dtype) else int(value), dtype)


def divided(value: Scalar, count: int) -> Scalar:
    """A float divided by a number of elements; known ones are multiplied with the inverse."""
    if is_symbolic(count):
        return value / number(count, value.dtype)
    return value * number(1.0 / count if count else float("nan"), value.dtype)


def clamp_index(index: Scalar, size: int) -> Scalar:
    """An index from data, as int64, forced into 0 .. size-1."""
    position = cast(index, INDEX)
    return binary("max", binary("min", position, size - 1), 0)


def index_from_end(index: Scalar, size: int) -> Scalar:
    """An index from data, as int64, where negative ones count from the end.

    Without a choice, which would have a value for each lane: the sign is a mask of the size.
    """
    position = cast(index, INDEX)
    if index.dtype.startswith("u"):
        return position
    return position + binary("and", binary("shr", position, 63), size)


def index_inside(index: Scalar, size: int) -> Scalar:
    """An index of -size .. size-1 from data, counted from the front; others give any index inside.

    One comparison is enough: as an unsigned number what is negative still lies beyond the end.
    """
    position = cast(index_from_end(index, size), "uint64")
    last: Scalar = literal(max(size, 1) - 1, "uint64")
    if is_symbolic(size):
        last = cast(binary("max", literal(size - 1, INDEX), 0), "uint64")
    return cast(binary("min", position, last), INDEX)


def all_of(conditions: Sequence[Scalar]) -> Scalar:
    """Whether all conditions hold; true for none."""
    result: Scalar | None = None
    for condition in conditions:
        result = condition if result is None else binary("and", result, condition)
    return literal(True, "bool") if result is None else result


def normalized_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front; type inference has checked its range."""
    return axis % rank if rank else 0
