from __future__ import annotations

from collections.abc import Callable

import numpy as np

Check = Callable[..., None]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_products(check_microsoft: Check) -> None:
    check_microsoft("FusedMatMul", floats(2, 4, 3), floats(2, 4, 5), transA=1, alpha=0.25)
    check_microsoft("FusedMatMul", floats(3, 4), floats(5, 4), transB=1)
    moved = {"transBatchA": 1, "transBatchB": 1, "transB": 1}
    check_microsoft("FusedMatMul", floats(4, 2, 6, 3), floats(5, 2, 6, 3), **moved)
    for activation in ("Relu", "LeakyRelu"):
        check_microsoft(
            "FusedGemm",
            *(floats(3, 4), floats(5, 4), floats(5)),
            **{"transB": 1, "activation": activation, "activation_alpha": 0.2},
        )


def test_activations(check_microsoft: Check) -> None:
    for operator in ("Gelu", "QuickGelu", "FastGelu"):
        check_microsoft(operator, floats(3, 5) * 3)
    for operator in ("BiasGelu", "FastGelu"):
        check_microsoft(operator, floats(3, 5) * 3, floats(5))


def test_convolution_with_an_activation(check_microsoft: Check) -> None:
    inputs = (floats(1, 3, 6, 5), floats(4, 3, 3, 3), floats(4))
    check_microsoft("FusedConv", *inputs, activation="Relu", pads=[1, 1, 1, 1])
    limits = {"activation": "Clip", "activation_params": [-0.5, 1.0]}
    check_microsoft("FusedConv", *inputs, floats(1, 4, 4, 3), **limits)


def test_normalizations_of_sums(check_microsoft: Check) -> None:
    x, skip, bias = floats(2, 3, 8), floats(2, 3, 8) + 1, floats(8)
    scale, shift = floats(8) + 2, floats(8) - 1
    check_microsoft("SkipLayerNormalization", x, skip, scale, shift)
    check_microsoft("SkipLayerNormalization", x, skip[0], scale, shift, bias, epsilon=1e-3)
    check_microsoft("SkipSimplifiedLayerNormalization", x, skip, scale, bias)


def test_embeddings(check_microsoft: Check) -> None:
    words = np.array([[3, 1, 0], [2, 2, 4]], np.int32)
    tables = {2: floats(5, 8), 3: floats(6, 8), 4: floats(2, 8), 5: floats(8) + 2, 6: floats(8)}
    segments, mask = words % 2, np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    inputs = (words, segments, None, None, None, None, None, mask)
    check_microsoft("EmbedLayerNormalization", *inputs, constants=tables, outputs=2)
    positions = np.array([[2, 1, 0], [5, 4, 3]], np.int32)
    inputs = (words, None, None, None, None, None, None, None, positions)
    tables = {position: table for position, table in tables.items() if position != 4}
    check_microsoft("EmbedLayerNormalization", *inputs, constants=tables, outputs=2)
