"""The discrete Fourier transform of ONNX: matrix products with tables of cosines and sines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axis,
    dtype_of,
    known_integer,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import axis_size, positions
from relay_tune.frontend.onnx_import.operators.activation import shifted
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.open_pad import Width, padded_axis
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.frontend.onnx_import.symbolic import known_dims
from relay_tune.ir.dim import UNKNOWN, Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import add, floor_divide, multiply, subtract
from relay_tune.ir.expr import Expr

MAXIMUM_LENGTH = 4096


def translate_dft(node: OnnxNode, build: Builder) -> Expr:
    """The transform of one axis of [..., 1] (real) or [..., 2] (complex) numbers."""
    data = node.input(0)
    rank = rank_of(data)
    axis = _transformed_axis(node, rank)
    onesided, inverse = node.flag("onesided", 0), node.flag("inverse", 0)
    if inverse and onesided:
        return _real_inverse(node, build, data, axis)
    length = _length(node, build, data, axis)
    if isinstance(length, int):
        data = _resized(build, data, axis, length)
    elif length != shape_of(data)[axis] or isinstance(length, UnknownDim):
        data = _of_given_length(node, build, data, axis, length)
    order = (*(position for position in range(rank - 1) if position != axis), axis, rank - 1)
    back = tuple(int(position) for position in np.argsort(order))
    moved = build.call("transpose", data, axes=order)
    real, imaginary = _parts(build, moved)
    tables: Sequence[Expr]
    if isinstance(length, int):
        parts = _inverse(length) if inverse else turned(length, onesided)
        tables = [build.constant(each, dtype_of(real)) for each in parts]
    elif inverse:
        tables = _open_inverse(build, moved, dtype_of(real))
    else:
        tables = _open_turned(build, moved, dtype_of(real), onesided)
    spectrum = _spectrum(build, real, imaginary, tables)
    return build.call("transpose", spectrum, axes=back)


def _real_inverse(node: OnnxNode, build: Builder, data: Expr, axis: int) -> Expr:
    """The real numbers of which the first half of a spectrum is given, [..., n, 1]."""
    rank = rank_of(data)
    length, number = _whole_length(node, build, data, axis)
    wanted = _half(length)
    data = _resized(build, data, axis, wanted, lambda: _half_number(build, number))
    order = (*(position for position in range(rank - 1) if position != axis), axis, rank - 1)
    real, imaginary = _parts(build, build.call("transpose", data, axes=order))
    if imaginary is None:
        raise ModelError("a half spectrum must be complex.")
    tables: Sequence[Expr]
    if isinstance(length, int):
        dtype = dtype_of(real)
        tables = [build.constant(table, dtype) for table in _real_tables(length)]
    else:
        tables = _open_real_tables(build, real, (length, number))
    parts = [
        build.call("nn.matmul", part, table)
        for part, table in zip((real, imaginary), tables, strict=True)
    ]
    values = build.call("add", *parts)
    back = tuple(int(position) for position in np.argsort(order))
    return build.call("transpose", build.call("expand_dims", values, axis=rank - 1), axes=back)


def _whole_length(node: OnnxNode, build: Builder, data: Expr, axis: int) -> tuple[Dim, Expr]:
    """How many real numbers a half spectrum stands for, as a dimension and as an int64 scalar."""
    given, bins = node.optional(1), shape_of(data)[axis]
    if given is None:
        two, one = build.constant(2), build.constant(1)
        length = multiply(2, subtract(bins, 1))
        around = build.call("subtract", axis_size(build, data, axis), one)
        number = build.call("multiply", two, around)
    else:
        found = known_dims(build, given)
        length = UNKNOWN if found is None else found[0]
        number = cast_to(build, build.call("reshape", given, newshape=()), "int64")
    return (checked_length(length) if isinstance(length, int) else length), number


def _half(length: Dim) -> Dim:
    """How many elements the half spectrum of so many real numbers has."""
    return add(floor_divide(length, 2), 1)


def _half_number(build: Builder, length: Expr) -> Expr:
    return shifted(build, build.call("floor_divide", length, build.constant(2)), 1)


def _real_tables(length: int) -> list[np.ndarray]:
    """The factors of a half spectrum: parts of exp(2 pi i k n / N) / N, [k, n] each.

    Each element but the first, and that in the middle, stands for its mirror image, too.
    """
    cosine, sine = (table.T / length for table in turned(length, True))
    twice = np.full((length // 2 + 1, 1), 2.0)
    twice[0] = 1
    if length % 2 == 0:
        twice[-1] = 1
    return [cosine * twice, sine * twice]


def _open_real_tables(build: Builder, real: Expr, length: tuple[Dim, Expr]) -> list[Expr]:
    """The tables of `_real_tables` where only a run knows the length; `real` ends with the bins."""
    size, number = length
    k = build.call("expand_dims", positions(build, real, rank_of(real) - 1), axis=1)
    n = _named(build, range_at_run_time(build, build.constant(0), number), size)
    turns = build.call("multiply", k, n)
    middle = build.call("equal", build.call("multiply", k, build.constant(2)), number)
    single = build.call("logical_or", middle, build.call("equal", k, build.constant(0)))
    one, two = (build.constant(value, "float64") for value in (1, 2))
    whole = build.call("cast", number, dtype="float64")
    share = build.call("divide", build.call("where", single, one, two), whole)
    waves = _waves(build, turns, number, "float64")
    return [
        build.call("cast", build.call("multiply", wave, share), dtype=dtype_of(real))
        for wave in waves
    ]


def _named(build: Builder, vector: Expr, size: Dim) -> Expr:
    """A vector whose size is known as a dimension, unless it is not known at all."""
    return vector if isinstance(size, UnknownDim) else build.with_shape(vector, (size,))


def _transformed_axis(node: OnnxNode, rank: int) -> int:
    if node.opset < 20:
        given = node.integer("axis", 1)
    else:
        axis = node.optional(2)
        given = -2 if axis is None else known_integer(axis, "the input axis")
    position = checked_axis(given, rank)
    if rank < 2 or position == rank - 1:
        raise ModelError("the last axis holds real and imaginary parts; it is not transformed.")
    return position


def _length(node: OnnxNode, build: Builder, data: Expr, axis: int) -> Dim:
    """How many elements are transformed, `?` where only a run knows it."""
    given, length = node.optional(1), shape_of(data)[axis]
    if given is not None:
        found = known_dims(build, given)
        length = UNKNOWN if found is None else found[0]
    return checked_length(length) if isinstance(length, int) else length


def _of_given_length(node: OnnxNode, build: Builder, data: Expr, axis: int, length: Dim) -> Expr:
    """`data` cut or filled to a length that the node is given when it runs."""
    given = node.optional(1)
    if given is None:
        return data
    number = cast_to(build, build.call("reshape", given, newshape=()), "int64")
    return _resized(build, data, axis, length, lambda: number)


def checked_length(length: int) -> int:
    """The length; UnsupportedOperatorError for one whose tables would be too large."""
    if not 1 <= length <= MAXIMUM_LENGTH:
        raise UnsupportedOperatorError(
            f"a transform of {length} elements is not supported; the limit is {MAXIMUM_LENGTH}."
        )
    return length


def _resized(
    build: Builder, data: Expr, axis: int, length: Dim, number: Callable[[], Expr] | None = None
) -> Expr:
    """`data` cut or filled with zeros to `length` elements along an axis, open ones to `number`."""
    size = shape_of(data)[axis]
    if size == length and not isinstance(size, UnknownDim):
        return data
    if not (isinstance(size, int) and isinstance(length, int)):
        wanted = build.constant(length) if number is None else number()
        missing = build.call("subtract", wanted, axis_size(build, data, axis))
        widths_: tuple[Width, Width]
        widths_ = ((0, build.constant(0, "int64")), (subtract(length, size), missing))
        return padded_axis(build, data, axis, widths_, "constant", build.like(0, data))
    if size > length:
        return part(build, data, axis, 0, length)
    widths = [(0, 0)] * rank_of(data)
    widths[axis] = (0, length - size)
    zero = build.like(0, data)
    return build.call("nn.pad", data, zero, pad_width=tuple(widths), pad_mode="constant")


def _parts(build: Builder, data: Expr) -> tuple[Expr, Expr | None]:
    """The real and the imaginary parts, without the last axis; None for real numbers."""
    count = static_dim(shape_of(data)[-1])
    if count not in (1, 2):
        raise ModelError(f"the last axis must have the size 1 or 2, not {count}.")
    parts = [
        build.call("take", data, build.constant(index, "int64"), axis=rank_of(data) - 1)
        for index in range(count)
    ]
    return parts[0], parts[1] if count == 2 else None


def _spectrum(
    build: Builder,
    real: Expr,
    imaginary: Expr | None,
    tables: Sequence[Expr],
) -> Expr:
    """Sums of x[n] times the complex numbers [n, k] of two tables, as [..., k, 2]."""
    cosine, sine = tables
    new_real = build.call("nn.matmul", real, cosine)
    new_imaginary = build.call("nn.matmul", real, sine)
    if imaginary is not None:
        new_real = build.call("subtract", new_real, build.call("nn.matmul", imaginary, sine))
        new_imaginary = build.call("add", new_imaginary, build.call("nn.matmul", imaginary, cosine))
    return build.call("stack", build.tuple_of((new_real, new_imaginary)), axis=rank_of(real))


def turned(length: int, onesided: bool) -> tuple[np.ndarray, np.ndarray]:
    """The parts of exp(-2 pi i k n / N), [n, k] each; `onesided` leaves out k above N / 2."""
    count = length // 2 + 1 if onesided else length
    turns = np.outer(np.arange(length), np.arange(count)) % length
    angle = 2 * np.pi * turns / length
    return np.cos(angle), -np.sin(angle)


def _open_turned(build: Builder, data: Expr, dtype: str, onesided: bool) -> list[Expr]:
    """The tables of `turned` for the last axis but one of data, whose size only a run knows."""
    axis = rank_of(data) - 2
    length = axis_size(build, data, axis)
    n = positions(build, data, axis)
    k = n
    if onesided:
        k = range_at_run_time(build, build.constant(0), _half_number(build, length))
        k = _named(build, k, _half(shape_of(data)[axis]))
    turns = build.call("multiply", build.call("expand_dims", n, axis=1), k)
    return _waves(build, turns, length, dtype)


def _waves(build: Builder, turns: Expr, length: Expr, dtype: str) -> list[Expr]:
    """The parts of exp(-2 pi i turns / length)."""
    turns = build.call("cast", build.call("floor_mod", turns, length), dtype="float64")
    share = build.call("divide", turns, build.call("cast", length, dtype="float64"))
    angle = build.call("multiply", share, build.constant(-2 * np.pi, "float64"))
    return [build.call("cast", build.call(name, angle), dtype=dtype) for name in ("cos", "sin")]


def _inverse(length: int) -> tuple[np.ndarray, np.ndarray]:
    """The parts of exp(2 pi i k n / N) / N, [k, n] each."""
    cosine, sine = turned(length, False)
    return cosine / length, -sine / length


def _open_inverse(build: Builder, data: Expr, dtype: str) -> list[Expr]:
    """The tables of `_inverse` for the last axis but one of data, whose size only a run knows."""
    cosine, sine = _open_turned(build, data, dtype, False)
    length = build.call("cast", axis_size(build, data, rank_of(data) - 2), dtype=dtype)
    scales = (length, build.call("negative", length))
    tables = zip((cosine, sine), scales, strict=True)
    return [build.call("divide", table, scale) for table, scale in tables]
