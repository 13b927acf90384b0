"""Fourier transforms of ONNX: matrix products and convolutions with cosines and sines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    checked_axis,
    dtype_of,
    known_array,
    known_integer,
    known_scalar,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import axis_size, positions
from relay_tune.frontend.onnx_import.operators.activation import shifted
from relay_tune.frontend.onnx_import.operators.open_pad import Width, padded_axis
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.frontend.onnx_import.symbolic import known_dims
from relay_tune.frontend.onnx_import.types import dtype_name
from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import subtract
from relay_tune.ir.expr import Expr


def translate_mel_weight_matrix(node: OnnxNode, build: Builder) -> Expr:
    """Triangles that are equally wide in mels, a column each: [dft_length // 2 + 1, mel bins].

    The numbers are those of the ONNX standard, whose triangles begin and end at whole bins.
    """
    dtype = dtype_name(node.integer("output_datatype", 1), "the attribute output_datatype")
    names = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
    count, length, rate, lowest, highest = (
        known_scalar(node.input(index), f"the input {name}") for index, name in enumerate(names)
    )
    if min(count, length, rate) < 1 or not 0 <= lowest < highest <= rate / 2:
        raise ModelError("the inputs describe no triangles between 0 and half of the sample rate.")
    check_size(int(count) * (int(length) // 2 + 1), "float64")
    low, high = (2595 * np.log10(1 + hertz / 700) for hertz in (lowest, highest))
    mels = low + np.arange(count + 2) * (high - low) / (count + 2)
    hertz = 700 * (10 ** (mels / 2595) - 1)
    edges = ((length + 1) * hertz // rate).astype(int)
    matrix = np.zeros((length // 2 + 1, count))
    for column, (begin, centre, end) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        matrix[begin:centre, column] = np.arange(centre - begin) / max(centre - begin, 1)
        matrix[centre:end, column] = np.arange(end - centre, 0, -1) / max(end - centre, 1)
        matrix[centre, column] = 1
    return build.constant(matrix, dtype)


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
    order = (*(position for position in range(rank - 1) if position != axis), axis, rank - 1)
    back = tuple(int(position) for position in np.argsort(order))
    moved = build.call("transpose", data, axes=order)
    real, imaginary = _parts(build, moved)
    tables: Sequence[Expr]
    if isinstance(length, int):
        parts = _inverse(length) if inverse else _turned(length, onesided)
        tables = [build.constant(each, dtype_of(real)) for each in parts]
    elif inverse:
        raise UnsupportedOperatorError(
            "an inverse transform of a whole spectrum needs a length that is known."
        )
    else:
        tables = _open_turned(build, moved, dtype_of(real), onesided)
    spectrum = _spectrum(build, real, imaginary, tables)
    return build.call("transpose", spectrum, axes=back)


def _real_inverse(node: OnnxNode, build: Builder, data: Expr, axis: int) -> Expr:
    """The real numbers of which the first half of a spectrum is given, [..., n, 1]."""
    rank, bins = rank_of(data), static_dim(shape_of(data)[axis])
    given = node.optional(1)
    length = 2 * (bins - 1) if given is None else known_integer(given, "the input dft_length")
    wanted = _checked_length(length) // 2 + 1
    order = (*(position for position in range(rank - 1) if position != axis), axis, rank - 1)
    moved = build.call("transpose", _resized(build, data, axis, wanted), axes=order)
    real, imaginary = _parts(build, moved)
    if imaginary is None:
        raise ModelError("a half spectrum must be complex.")
    cosine, sine = (table.T / length for table in _turned(length, True))
    twice = np.full((wanted, 1), 2.0)  # each bin stands for its mirror image, too
    twice[0] = 1
    if length % 2 == 0:
        twice[-1] = 1
    tables = [build.constant(table * twice, dtype_of(real)) for table in (cosine, sine)]
    parts = [
        build.call("nn.matmul", part, table)
        for part, table in zip((real, imaginary), tables, strict=True)
    ]
    values = build.call("add", *parts)
    back = tuple(int(position) for position in np.argsort(order))
    return build.call("transpose", build.call("expand_dims", values, axis=rank - 1), axes=back)


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
    """How many elements are transformed; that of the axis where only a run knows it."""
    given, length = node.optional(1), shape_of(data)[axis]
    if given is not None and known_dims(build, given) != (length,):
        length = known_integer(given, "the input dft_length")
    return _checked_length(length) if isinstance(length, int) else length


def _checked_length(length: int) -> int:
    if not 1 <= length <= MAXIMUM_LENGTH:
        raise UnsupportedOperatorError(
            f"a transform of {length} elements is not supported; the limit is {MAXIMUM_LENGTH}."
        )
    return length


def _resized(build: Builder, data: Expr, axis: int, length: int) -> Expr:
    """`data` cut or filled with zeros to `length` elements along the axis."""
    size = shape_of(data)[axis]
    if not isinstance(size, int):
        zero, width = build.constant(0, "int64"), subtract(length, size)
        number = build.call("subtract", build.constant(length), axis_size(build, data, axis))
        widths_: tuple[Width, Width] = ((0, zero), (width, number))
        return padded_axis(build, data, axis, widths_, "constant", build.like(0, data))
    if size > length:
        return build.call(
            "strided_slice", data, begin=(0,), end=(length,), strides=(1,), axes=(axis,)
        )
    if size == length:
        return data
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


def _turned(length: int, onesided: bool) -> tuple[np.ndarray, np.ndarray]:
    """The parts of exp(-2 pi i k n / N), [n, k] each; `onesided` leaves out k above N / 2."""
    count = length // 2 + 1 if onesided else length
    turns = np.outer(np.arange(length), np.arange(count)) % length
    angle = 2 * np.pi * turns / length
    return np.cos(angle), -np.sin(angle)


def _open_turned(build: Builder, data: Expr, dtype: str, onesided: bool) -> list[Expr]:
    """The tables of `_turned` for the last axis but one of data, whose size only a run knows."""
    axis = rank_of(data) - 2
    length = axis_size(build, data, axis)
    n = positions(build, data, axis)
    k = n
    if onesided:
        half = build.call("floor_divide", length, build.constant(2))
        k = range_at_run_time(build, build.constant(0), shifted(build, half, 1))
    turns = build.call("multiply", build.call("expand_dims", n, axis=1), k)
    turns = build.call("cast", build.call("floor_mod", turns, length), dtype="float64")
    share = build.call("divide", turns, build.call("cast", length, dtype="float64"))
    angle = build.call("multiply", share, build.constant(-2 * np.pi, "float64"))
    return [build.call("cast", build.call(name, angle), dtype=dtype) for name in ("cos", "sin")]


def _inverse(length: int) -> tuple[np.ndarray, np.ndarray]:
    """The parts of exp(2 pi i k n / N) / N, [k, n] each."""
    cosine, sine = _turned(length, False)
    return cosine / length, -sine / length


def translate_stft(node: OnnxNode, build: Builder) -> Expr:
    """The spectra of frames of a signal [batch, length, 1 or 2], as [batch, frames, k, 2].

    One convolution: its filters are cosines and sines under the window, its stride is the step from
    frame to frame. Real signals may come without the last axis, as exporters write them.
    """
    signal = node.input(0)
    if rank_of(signal) == 2:
        signal = build.call("expand_dims", signal, axis=2)
    if rank_of(signal) != 3 or shape_of(signal)[2] not in (1, 2):
        raise ModelError("the signal must be [batch, length, 1 or 2].")
    step = known_integer(node.input(1), "the input frame_step")
    if step < 1:
        raise ModelError(f"the input frame_step is {step}, but must be at least 1.")
    window = _window(node)
    filters = _filters(window, node.flag("onesided", 1), shape_of(signal)[2] == 2)
    bins = len(filters) // 2
    spectra = build.call(
        "nn.conv1d",
        build.call("transpose", signal, axes=(0, 2, 1)),
        build.constant(filters, dtype_of(signal)),
        strides=(step,),
        padding=(0, 0),
        channels=2 * bins,
        kernel_size=(len(window),),
    )
    parts = build.call("reshape", spectra, newshape=(0, 2, bins, -1))
    return build.call("transpose", parts, axes=(0, 3, 2, 1))


def _window(node: OnnxNode) -> np.ndarray:
    """The factor of each element of a frame."""
    given, length = node.optional(2), node.optional(3)
    if given is None and length is None:
        raise ModelError("neither a window nor a frame_length is given.")
    if given is None:
        window = np.ones(_checked_length(known_integer(node.input(3), "the input frame_length")))
    else:
        window = known_array(given, "the input window").astype("float64")
    if window.ndim != 1:
        raise ModelError(f"the window must have 1 dimension, not {window.ndim}.")
    _checked_length(len(window))
    if length is not None and known_integer(length, "the input frame_length") != len(window):
        raise ModelError(f"the window has {len(window)} elements, which is not the frame_length.")
    return window


def _filters(window: np.ndarray, onesided: bool, is_complex: bool) -> np.ndarray:
    """Matrix that gives the real and then the imaginary parts, [2 k, 1 or 2 parts, elements]."""
    cosine, sine = (table.T * window for table in _turned(len(window), onesided))
    of_real = np.concatenate([cosine, sine])
    of_imaginary = np.concatenate([-sine, cosine])
    return np.stack([of_real, of_imaginary] if is_complex else [of_real], axis=1)


SIGNALS: Mapping[str, Translator] = {
    "DFT": translate_dft,
    "MelWeightMatrix": translate_mel_weight_matrix,
    "STFT": translate_stft,
}
