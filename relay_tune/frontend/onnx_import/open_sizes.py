"""Tensors whose sizes only a run knows: ranges, fillings, expansions, reshapes.

    before:  Reshape(x, [m, n, 8])                  where n and m are sizes of inputs
    after:   let %v: Tensor[(m, n, 8), float32] = dyn.reshape(%x, stack((m, n, 8)));

Operators of the family dyn take sizes as a vector of numbers, and their results have sizes `?`. A
variable with a type says what the sizes are; that is checked when the program runs. The numbers
themselves are arithmetic of the sizes of inputs, or computed by the program (sizes `?`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, shape_of
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time, sizes_of
from relay_tune.ir.dim import UNKNOWN, Atom, Dim, Polynomial, PositivePart, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import floor_divide, product
from relay_tune.ir.expr import Constant, Expr
from relay_tune.op_rules.matching import operator_call

Size = Dim | Expr
"""A size as a dimension, or as an int64 scalar that the program computes."""


def size_value(build: Builder, dim: Size) -> Expr:
    """A size as an int64 scalar; UnsupportedOperatorError for one that no tensor at hand tells."""
    if isinstance(dim, Expr):
        return dim
    if isinstance(dim, int):
        return build.constant(dim, "int64")
    if dim in build.sized:
        data, axis = build.sized[dim]
        sizes = build.call("shape_of", data, dtype="int64")
        return build.call("take", sizes, build.constant(axis, "int64"), axis=0)
    if not isinstance(dim, Polynomial):
        raise UnsupportedOperatorError(f"the size {dim} is that of no tensor.")
    total: Expr | None = None
    for atoms, factor in dim.terms:
        term: Expr = build.constant(factor, "int64")
        for atom in atoms:
            term = build.call("multiply", term, _atom_value(build, atom))
        total = term if total is None else build.call("add", total, term)
    return build.constant(0, "int64") if total is None else total


def _atom_value(build: Builder, atom: Atom) -> Expr:
    if isinstance(atom, Symbol):
        return size_value(build, atom)
    if isinstance(atom, PositivePart):
        return build.call("maximum", size_value(build, atom.value), build.constant(0, "int64"))
    numerator, divisor = size_value(build, atom.numerator), build.constant(atom.divisor, "int64")
    return build.call("floor_divide", numerator, divisor)


def axis_size(build: Builder, data: Expr, axis: int) -> Expr:
    """The size of an axis of a tensor as an int64 scalar, also where the size has no name."""
    size = shape_of(data)[axis]
    if not isinstance(size, UnknownDim):
        return size_value(build, size)
    return build.call("take", sizes_of(build, data), build.constant(axis, "int64"), axis=0)


def with_size(build: Builder, data: Expr, axis: int, size: int) -> Expr:
    """`data` with a size that an operator asks for, such as that of its weights.

    Where the type does not tell the size, it is checked when the program runs.
    """
    shape = list(shape_of(data))
    if isinstance(shape[axis], int):
        return data
    shape[axis] = size
    return build.with_shape(data, shape)


def known_size(build: Builder, data: Expr, axis: int) -> Size:
    """The size of an axis of a tensor: its dimension, or what the program computes for a `?`."""
    size = shape_of(data)[axis]
    return axis_size(build, data, axis) if isinstance(size, UnknownDim) else size


def known_sizes(build: Builder, data: Expr) -> tuple[Size, ...]:
    """The size of each axis of a tensor, as `known_size` has it."""
    return tuple(known_size(build, data, axis) for axis in range(len(shape_of(data))))


def dims_of(sizes: Sequence[Size]) -> tuple[Dim, ...]:
    """Sizes as dimensions, `?` for those that the program computes."""
    return tuple(UNKNOWN if isinstance(size, Expr) else size for size in sizes)


def size_product(build: Builder, sizes: Sequence[Size]) -> Size:
    """The product of sizes."""
    whole = product(dims_of(sizes))
    if not isinstance(whole, UnknownDim):
        return whole
    values = [size_value(build, size) for size in sizes]
    return reduce(lambda left, right: build.call("multiply", left, right), values)


def size_quotient(build: Builder, size: Size, divisor: int) -> Size:
    """A size divided by a number, rounded down."""
    if isinstance(size, Expr):
        return build.call("floor_divide", size, build.constant(divisor, "int64"))
    return floor_divide(size, divisor)


def size_vector(build: Builder, dims: Sequence[Size]) -> Expr:
    """Sizes as an int64 vector."""
    if not dims:
        return build.filled((0,), 0, "int64")
    return build.call("stack", build.tuple_of([size_value(build, dim) for dim in dims]), axis=0)


def are_known(dims: Sequence[Dim]) -> bool:
    """Whether all sizes have a name or a number."""
    return not any(isinstance(dim, UnknownDim) for dim in dims)


def have_one_size(first: tuple[Expr, int], second: tuple[Expr, int]) -> bool:
    """Whether axes of two tensors certainly have one size: two sizes `?` may differ."""
    size, other = (shape_of(data)[axis] for data, axis in (first, second))
    return size == other and not isinstance(size, UnknownDim)


def have_equally_many(left: Sequence[Dim], right: Sequence[Dim]) -> bool:
    """Whether tensors of two shapes have equally many elements for all values of their symbols."""
    count = product(left)
    return not isinstance(count, UnknownDim) and count == product(right)


def numbers_below(build: Builder, size: Dim) -> Expr:
    """0, 1, 2 ... as int64, as many as `size` says, which has a name or is a number."""
    zero, one = build.constant(0, "int64"), build.constant(1, "int64")
    numbers = build.call("dyn.arange", zero, size_value(build, size), one, dtype="int64")
    return build.with_shape(numbers, (size,))


def positions(build: Builder, data: Expr, axis: int) -> Expr:
    """0, 1, ... along an axis of a tensor, int64, also where its size has no name."""
    return positions_below(build, known_size(build, data, axis))


def positions_below(build: Builder, size: Size) -> Expr:
    """0, 1, ... below a size, int64."""
    if isinstance(size, int):
        return build.constant(np.arange(size))
    if isinstance(size, Expr):
        return range_at_run_time(build, build.constant(0), size)
    return numbers_below(build, size)


def filled_to_sizes(build: Builder, value: Any, dtype: str, sizes: Sequence[Size]) -> Expr:
    """A tensor of one value, of sizes that may be symbols."""
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes):
        return build.filled(numbers, value, dtype)
    vector = size_vector(build, sizes)
    filled = build.call("dyn.full", build.constant(value, dtype), vector, dtype=dtype)
    return build.with_shape(filled, dims_of(sizes))


def is_zero(build: Builder, value: Expr) -> bool:
    """Whether all elements are surely zero: those of a filling of any size, or of a part of one."""
    filled = filling_of(build, value)
    return filled is not None and not filled.any()


def common_element(build: Builder, value: Expr) -> Any:
    """What all elements surely are, in a filling of any size or a part of one; else None."""
    filled = filling_of(build, value)
    if filled is None or not filled.size or (filled != filled.flat[0]).any():
        return None
    return filled.flat[0]


def filling_of(build: Builder, value: Expr) -> np.ndarray | None:
    """The constant whose elements a tensor is filled with, or is a part of; None without one."""
    value = build.value_of(value)
    parts = ("take", "strided_slice", "dyn.broadcast_to", "broadcast_to_like", "dyn.full", "full")
    while (part := operator_call(value, *parts)) is not None:
        value = build.value_of(part.arguments[0])
    return value.data if isinstance(value, Constant) else None


def broadcast_to_sizes(build: Builder, data: Expr, sizes: Sequence[Dim]) -> Expr:
    """`data` stretched to sizes that may be symbols.

    Where axes of size 1 alone are stretched, the comparison with a vector for each of them has
    the sizes. Nothing reads its elements, so that they are not computed, and the code that reads
    `data` knows which axes repeat it.
    """
    for _ in range(len(sizes) - rank_of(data)):
        data = build.call("expand_dims", data, axis=0)
    axes = list(zip(shape_of(data), sizes, strict=True))
    is_told = all(old in (1, new) and UNKNOWN not in (old, new) for old, new in axes)
    if not is_told or all(old == 1 for old, _ in axes):
        stretched = build.call("dyn.broadcast_to", data, size_vector(build, sizes))
        return build.with_shape(stretched, sizes)
    like = data
    for behind, (old, new) in enumerate(reversed(axes)):
        if old != new:
            row = filled_to_sizes(build, 0, dtype_of(like), [new])
            row = build.call("expand_dims", row, axis=1, num_newaxis=behind) if behind else row
            like = build.call("equal", like, row)
    return build.call("broadcast_to_like", data, like)


def reshape_to_sizes(build: Builder, data: Expr, sizes: Sequence[Size]) -> Expr:
    """The elements of `data` in sizes that may be symbols, of which none is left to be found.

    Where the types do not tell that they are equally many, it is checked when the program runs.
    """
    dims = dims_of(sizes)
    like = build.shaped.get(dims)
    if like is not None and have_equally_many(shape_of(data), dims):
        return build.call("reshape_like", data, like)
    vector = size_vector(build, sizes)
    return build.with_shape(build.call("dyn.reshape", data, vector, allowzero=True), dims)
