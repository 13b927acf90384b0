"""The discrete Fourier transform of ONNX: matrix products with tables of cosines and sines.

Long ones, and those whose length only a run knows, are two such steps (`fourier.py`).
"""

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
from relay_tune.frontend.onnx_import.operators.fourier import (
    Complex,
    Transform,
    in_two_steps,
    most_columns,
    runs_in_two_steps,
)
from relay_tune.frontend.onnx_import.operators.open_pad import Width, padded_axis
from relay_tune.frontend.onnx_import.operators.parts import part
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
    size = shape_of(moved)[rank - 2]
    bins = _half(size) if onesided else size
    if isinstance(size, int) and isinstance(bins, int) and not runs_in_two_steps(size, bins):
        tables = _inverse(size) if inverse else turned(size, onesided)
        of_type = [build.constant(each, dtype_of(real)) for each in tables]
        spectrum = _spectrum(build, real, imaginary, of_type)
    else:
        number = build.once(axis_size(build, moved, rank - 2))
        bin_number = _half_number(build, number) if onesided else number
        how = Transform(number, bins, bin_number, is_inverse=bool(inverse))
        spectrum = _joined(build, in_two_steps(build, real, imaginary, how))
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
    if isinstance(length, int) and not runs_in_two_steps(length, length):
        tables = [build.constant(table, dtype_of(real)) for table in _real_tables(length)]
        parts = [
            build.call("nn.matmul", part, table)
            for part, table in zip((real, imaginary), tables, strict=True)
        ]
        values = build.call("add", *parts)
    else:
        number = build.once(number)
        doubled = [_doubled(build, each, length, number) for each in (real, imaginary)]
        how = Transform(number, length, number, is_inverse=True, is_real=True)
        values, _ = in_two_steps(build, doubled[0], doubled[1], how)
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
    return (_transformable(length) if isinstance(length, int) else length), number


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


def _doubled(build: Builder, half: Expr, length: Dim, number: Expr) -> Expr:
    """Half a spectrum with zeros behind it: its mirror image is added to it, but for real parts.

    Each element but the first, and that in the middle, stands for its mirror image, too.
    """
    axis = rank_of(half) - 1
    k = positions(build, half, axis)
    middle = build.call("equal", build.call("multiply", k, build.constant(2)), number)
    is_single = build.call("logical_or", middle, build.call("equal", k, build.constant(0)))
    one, two = (build.like(value, half) for value in (1, 2))
    weighted = build.call("multiply", half, build.call("where", is_single, one, two))
    return _resized(build, weighted, axis, length, lambda: number)


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
    return _transformable(length) if isinstance(length, int) else length


def _of_given_length(node: OnnxNode, build: Builder, data: Expr, axis: int, length: Dim) -> Expr:
    """`data` cut or filled to a length that the node is given when it runs."""
    given = node.optional(1)
    if given is None:
        return data
    number = cast_to(build, build.call("reshape", given, newshape=()), "int64")
    return _resized(build, data, axis, length, lambda: number)


def _transformable(length: int) -> int:
    """The length; UnsupportedOperatorError for one whose divisors leave too large tables."""
    if length <= MAXIMUM_LENGTH:
        return checked_length(length)
    has_small_tables = length <= MAXIMUM_LENGTH**2 and most_columns(length) <= MAXIMUM_LENGTH
    if not has_small_tables or not runs_in_two_steps(length, length // 2 + 1):
        raise UnsupportedOperatorError(
            f"a transform of {length} elements is not supported; one of more than "
            f"{MAXIMUM_LENGTH} needs a length with divisors near its root, at most "
            f"{MAXIMUM_LENGTH**2}."
        )
    return length


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
    return _joined(build, (new_real, new_imaginary))


def _joined(build: Builder, parts: Complex) -> Expr:
    """Real and imaginary parts along a new last axis."""
    real, imaginary = parts
    assert imaginary is not None
    return build.call("stack", build.tuple_of((real, imaginary)), axis=rank_of(real))


def turned(length: int, onesided: bool) -> tuple[np.ndarray, np.ndarray]:
    """The parts of exp(-2 pi i k n / N), [n, k] each; `onesided` leaves out k above N / 2."""
    count = length // 2 + 1 if onesided else length
    turns = np.outer(np.arange(length), np.arange(count)) % length
    angle = 2 * np.pi * turns / length
    return np.cos(angle), -np.sin(angle)


def _inverse(length: int) -> tuple[np.ndarray, np.ndarray]:
    """The parts of exp(2 pi i k n / N) / N, [k, n] each."""
    cosine, sine = turned(length, False)
    return cosine / length, -sine / length
