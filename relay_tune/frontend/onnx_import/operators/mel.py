"""The filters of ONNX that turn spectra into mels, the scale of heard pitch."""

from __future__ import annotations

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, check_size, known_scalar
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.types import dtype_name
from relay_tune.ir.expr import Expr


def translate_mel_weight_matrix(node: OnnxNode, build: Builder) -> Expr:
    """Triangles that are equally wide in mels, a column each: [dft_length // 2 + 1, mel bins].

    The numbers are those of the ONNX standard, whose triangles begin and end at whole bins.
    """
    dtype = dtype_name(node.integer("output_datatype", 1), "the attribute output_datatype")
    names = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
    count, length, rate, lowest, highest = (
        known_scalar(node.input(place), f"the input {name}") for place, name in enumerate(names)
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
