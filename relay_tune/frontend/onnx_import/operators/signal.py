"""Spectra of frames, a convolution with cosines and sines, and filters for them, of ONNX."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    dtype_of,
    is_known,
    known_array,
    known_integer,
    known_scalar,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.dft import checked_length, translate_dft, turned
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.types import dtype_name
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
    window, length = _window(node, build)
    filters = _filters(length, node.flag("onesided", 1), shape_of(signal)[2] == 2)
    bins = len(filters) // 2
    spectra = build.call(
        "nn.conv1d",
        build.call("transpose", signal, axes=(0, 2, 1)),
        _under_window(build, filters, window, dtype_of(signal)),
        strides=(step,),
        padding=(0, 0),
        channels=2 * bins,
        kernel_size=(length,),
    )
    parts = build.call("reshape", spectra, newshape=(0, 2, bins, -1))
    return build.call("transpose", parts, axes=(0, 3, 2, 1))


def _window(node: OnnxNode, build: Builder) -> tuple[Expr | None, int]:
    """The factor of each element of a frame, None for 1 everywhere, and how many there are."""
    window, length = node.optional(2), node.optional(3)
    if window is None and length is None:
        raise ModelError("neither a window nor a frame_length is given.")
    if window is None:
        return None, checked_length(known_integer(node.input(3), "the input frame_length"))
    if rank_of(window) != 1:
        raise ModelError(f"the window must have 1 dimension, not {rank_of(window)}.")
    count = static_dim(shape_of(window)[0])
    if length is not None and is_known(length):
        asked = known_integer(length, "the input frame_length")
        if asked != count:
            raise ModelError(f"the window has {count} elements, which is not the frame_length.")
    return window, checked_length(count)


def _filters(length: int, onesided: bool, is_complex: bool) -> np.ndarray:
    """Matrix that gives the real and then the imaginary parts, [2 k, 1 or 2 parts, elements]."""
    cosine, sine = (table.T for table in turned(length, onesided))
    of_real = np.concatenate([cosine, sine])
    of_imaginary = np.concatenate([-sine, cosine])
    return np.stack([of_real, of_imaginary] if is_complex else [of_real], axis=1)


def _under_window(build: Builder, filters: np.ndarray, window: Expr | None, dtype: str) -> Expr:
    """The filters times the window, which the program may compute."""
    if window is None:
        return build.constant(filters, dtype)
    if is_known(window):
        return build.constant(filters * known_array(window, "the window").astype("float64"), dtype)
    return build.call("multiply", build.constant(filters, dtype), cast_to(build, window, dtype))


SIGNALS: Mapping[str, Translator] = {
    "DFT": translate_dft,
    "MelWeightMatrix": translate_mel_weight_matrix,
    "STFT": translate_stft,
}
