"""The sizes and elements of results whose shapes depend on values: dyn.*, argwhere.

Each operator has two computations: one gives the sizes that are not known before, as int64
expressions over the inputs (less than 0 where the inputs do not fit), the other the elements, once
sizes are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import prod
from typing import Any

from relay_tune.op.elements import integer_shape, load_at, number
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Scalar,
    Tensor,
    binary,
    cast,
    index_value,
    reduce,
    select,
    unary,
)
from relay_tune.tensor.index import FlatTensors
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.tensor.tensor import Computed, compute, procedure

MISFIT = -1
"""The size of a result that there is not."""


def vector_elements(vector: Tensor) -> list[Scalar]:
    """The elements of a vector of known length as int64."""
    return [cast(vector[index], INDEX) for index in range(vector.shape[0])]


def sizes_from_shape(attributes: Any, inputs: Any, types: Any) -> list[Scalar]:
    """The last input has the sizes."""
    return vector_elements(inputs[-1])


def filled(value: int | None) -> Any:
    """The computation of a tensor with one value everywhere: a number, or the first input."""

    def computation(attributes: Any, inputs: Any, types: Any) -> list[Computed]:
        (type_,) = types

        def element(*axes: Scalar) -> Scalar:
            if value is not None:
                return number(value, type_.dtype)
            return cast(inputs[0][()], type_.dtype)

        return [compute("filled", integer_shape(type_), element)]

    return computation


def arange_sizes(attributes: Any, inputs: Any, types: Any) -> list[Scalar]:
    """ceil((stop - start) / step), and no less than 0; there is no result where the step is 0."""
    start, stop, step = (scalar[()] for scalar in inputs)
    wide = "float64" if is_float(start.dtype) else INDEX
    start, stop, step = (cast(value, wide) for value in (start, stop, step))
    stays = binary("eq", step, number(0, wide))
    step = select(stays, number(1, wide), step)
    if wide == INDEX:
        count = -binary("floordiv", start - stop, step)
    else:
        count = cast(unary("ceil", (stop - start) / step), INDEX)
    return [select(stays, index_value(MISFIT), binary("max", count, 0))]


def arange_elements(attributes: Any, inputs: Any, types: Any) -> list[Computed]:
    """start + i * step, computed in the widest type of its kind."""
    (type_,) = types
    wide = "float64" if is_float(inputs[0].dtype) else INDEX
    start, _, step = (cast(scalar[()], wide) for scalar in inputs)

    def element(index: Scalar) -> Scalar:
        return cast(start + cast(index, wide) * step, type_.dtype)

    return [compute("arange", integer_shape(type_), element)]


def broadcast_elements(attributes: Any, inputs: Any, types: Any) -> list[Computed]:
    """The data, whose axes of size 1 are stretched, aligned from the right."""
    return _repeated("broadcast_to", inputs[0], types[0])


def broadcast_sizes(attributes: Any, inputs: Any, types: Any) -> list[Scalar]:
    """The sizes, each of which must be that of the data, unless that is 1."""
    data, shape = inputs
    sizes = vector_elements(shape)
    extents = [1] * (len(sizes) - data.rank) + list(data.shape)
    return [
        size if extent == 1 else select(_stretches(extent, size), size, MISFIT)
        for size, extent in zip(sizes, extents, strict=True)
    ]


def _stretches(extent: int, size: Scalar) -> Scalar:
    same = binary("eq", size, extent)
    return binary("or", same, binary("eq", index_value(extent), 1))


def tile_sizes(attributes: Any, inputs: Any, types: Any) -> list[Scalar]:
    """Each size of the data times the number of its copies."""
    data, reps = inputs
    copies = vector_elements(reps)
    extents = [1] * (len(copies) - data.rank) + list(data.shape)
    return [count * extent for count, extent in zip(copies, extents, strict=True)]


def tile_elements(attributes: Any, inputs: Any, types: Any) -> list[Computed]:
    """Copies of the data side by side."""
    return _repeated("tile", inputs[0], types[0])


def _repeated(name: str, data: Tensor, type_: Any) -> list[Computed]:
    """The data again and again along each axis of the result."""

    def element(*axes: Scalar) -> Scalar:
        inner = axes[len(axes) - data.rank :]
        pairs = zip(inner, data.shape, strict=True)
        return load_at(data, [binary("floormod", axis, size) for axis, size in pairs])

    return [compute(name, integer_shape(type_), element)]


def reshape_sizes(attributes: Any, inputs: Any, types: Any) -> list[Scalar]:
    """The sizes of a reshape: -1 is what is left, and 0 a copied size unless it is allowed."""
    data, shape = inputs
    wanted = vector_elements(shape)
    if not attributes.allowzero:
        pairs = zip(wanted, data.shape, strict=False)
        copied = [select(binary("eq", size, 0), index_value(e), size) for size, e in pairs]
        wanted = [*copied, *wanted[len(copied) :]]
    count = index_value(prod(data.shape))
    known = index_value(1)
    for size in wanted:
        known = known * select(binary("lt", size, 0), index_value(1), size)
    left = binary("floordiv", count, binary("max", known, 1))
    sizes = [select(binary("eq", size, -1), left, size) for size in wanted]
    total = index_value(1)
    for size in sizes:
        total = total * size
    fits = binary("eq", total, count)
    return [select(fits, size, MISFIT) for size in sizes]


def reshape_elements(attributes: Any, inputs: Any, types: Any) -> list[Computed]:
    """The elements in row-major order: a copy, however the shapes differ."""
    data, _ = inputs
    shape = integer_shape(types[0])
    elements = FlatTensors().view(data)

    def element(*axes: Scalar) -> Scalar:
        position = index_value(0)
        for axis, size in zip(axes, shape, strict=True):
            position = position * size + axis
        return elements[(position,)]

    return [compute("reshape", shape, element)]


def bounds_of_slice(begin: Scalar, end: Scalar, stride: Scalar, size: int) -> tuple[Scalar, Scalar]:
    """The first position of `begin:end:stride` on an axis, and how many there are, as in Python."""
    is_backward = binary("lt", stride, 0)
    least = select(is_backward, index_value(-1), index_value(0))
    most = select(is_backward, index_value(size) - 1, index_value(size))
    first, last = (_clamped(bound, size, least, most) for bound in (begin, end))
    distance = select(is_backward, first - last, last - first)
    step = unary("abs", stride)
    count = binary("floordiv", distance + step - 1, binary("max", step, 1))
    return first, binary("max", count, 0)


def _clamped(bound: Scalar, size: int, least: Scalar, most: Scalar) -> Scalar:
    from_start = select(binary("lt", bound, 0), bound + size, bound)
    return binary("min", binary("max", from_start, least), most)


def slice_sizes(attributes: Any, inputs: Any, types: Any) -> list[Scalar]:
    """How many positions each axis keeps; there is no result where a stride is 0."""
    data, *bounds = inputs
    strides = vector_elements(bounds[2])
    return [
        select(binary("eq", stride, 0), index_value(MISFIT), count)
        for stride, (_, count) in zip(strides, _slices(data, bounds), strict=True)
    ]


def slice_elements(attributes: Any, inputs: Any, types: Any) -> list[Computed]:
    """data[begin:end:stride]."""
    data, *bounds = inputs
    strides = vector_elements(bounds[2])
    firsts = [first for first, _ in _slices(data, bounds)]

    def element(*axes: Scalar) -> Scalar:
        parts = zip(axes, firsts, strides, strict=True)
        return load_at(data, [first + axis * stride for axis, first, stride in parts])

    return [compute("strided_slice", integer_shape(types[0]), element)]


def _slices(data: Tensor, bounds: Sequence[Tensor]) -> list[tuple[Scalar, Scalar]]:
    columns = [vector_elements(vector) for vector in bounds]
    rows = zip(*columns, data.shape, strict=True)
    return [bounds_of_slice(begin, end, stride, size) for begin, end, stride, size in rows]


def topk_sizes(attributes: Any, inputs: Any, types: Any) -> list[Scalar]:
    """How many elements are kept, for each result; all along the axis if k < 1."""
    data, k = inputs
    size = data.shape[attributes.axis % data.rank]
    wanted = cast(k[(0,) * k.rank], INDEX)
    fits = select(binary("lt", index_value(size), wanted), index_value(MISFIT), wanted)
    kept = select(binary("lt", wanted, 1), index_value(size), fits)
    return [kept] * (2 if attributes.ret_type == "both" else 1)


def argwhere_sizes(attributes: Any, inputs: Any, types: Any) -> list[Scalar]:
    """How many elements are not zero."""
    (data,) = inputs
    axes = [Axis(f"k{n}", extent) for n, extent in enumerate(data.shape)]
    value = cast(cast(data[tuple(axes)], "bool"), INDEX)
    count = compute("count", (), lambda: reduce("sum", axes, value))
    return [count[()]]


def argwhere_elements(attributes: Any, inputs: Any, types: Any) -> Sequence[Tensor]:
    """The positions of elements that are not zero, one a row."""
    (data,) = inputs
    (type_,) = types

    def write(builder: LoopBuilder, source: Buffer, target: Buffer) -> None:
        row = builder.local("row", (), INDEX)
        builder.store(row, (), 0)
        with ExitStack() as stack:
            position = [
                stack.enter_context(builder.loop(f"i{n}", extent))
                for n, extent in enumerate(source.shape)
            ]
            stack.enter_context(builder.when(cast(source[tuple(position)], "bool")))
            for axis, index in enumerate(position):
                builder.store(target, (row[()], axis), cast(index, type_.dtype))
            builder.store(row, (), row[()] + 1)

    return procedure("argwhere", [data], [(integer_shape(type_), type_.dtype)], write)
