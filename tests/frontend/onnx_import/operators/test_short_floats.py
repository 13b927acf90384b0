"""Statistics of float16 and bfloat16 are computed in float32: one rounding in the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret
from tests.frontend.onnx_import.conftest import make_node_model

Array = np.ndarray[Any, Any]
LAST = (2, 3)
TYPES = {"float16": (np.dtype(np.float16), 6e-4), "bfloat16": (np.dtype(ml_dtypes.bfloat16), 5e-3)}
"""The element types, and one rounding of each."""


def _standardized(x: Array, axes: tuple[int, ...], epsilon: float = 1e-5) -> Array:
    distance = x - x.mean(axes, keepdims=True)
    return distance / np.sqrt(np.square(distance).mean(axes, keepdims=True) + epsilon)


def _column(x: Array) -> Array:
    return x[:, None, None]


def _batch_norm(x: Array, s: Array, b: Array, m: Array, v: Array) -> Array:
    return (x - _column(m)) / np.sqrt(_column(v) + 1e-5) * _column(s) + _column(b)


def _softmax(x: Array) -> Array:
    terms = np.exp(x - x.max(-1, keepdims=True))
    return terms / terms.sum(-1, keepdims=True)


EXACT: dict[str, Callable[..., Array]] = {
    "InstanceNormalization": lambda x, s, b: _standardized(x, LAST) * _column(s) + _column(b),
    "MeanVarianceNormalization": lambda x: _standardized(x, (0, 2, 3), 0),
    "LpNormalization": lambda x: x / np.sqrt(np.square(x).sum(-1, keepdims=True)),
    "LayerNormalization": lambda x, s: _standardized(x, (-1,)) * s,
    "RMSNormalization": lambda x, s: x / np.sqrt(np.square(x).mean(-1, keepdims=True)) * s,
    "BatchNormalization": _batch_norm,
    "ReduceL2": lambda x: np.sqrt(np.square(x).sum(keepdims=True)),
    "ReduceMean": lambda x: x.mean(keepdims=True),
    "ReduceLogSum": lambda x: np.log(x.sum(keepdims=True)),
    "ReduceLogSumExp": lambda x: np.log(np.exp(x - 999).sum(keepdims=True)) + 999,
    "GlobalLpPool": lambda x: np.sqrt(np.square(x).sum(LAST, keepdims=True)),
    "GlobalAveragePool": lambda x: x.mean(LAST, keepdims=True),
    "Mean": lambda x, y, z: (x + y + z) / 3,
    "Softmax": _softmax,
}
VECTORS = {"InstanceNormalization": 2, "LayerNormalization": 1, "RMSNormalization": 1}


def _inputs(operator: str) -> list[Array]:
    """Images of large numbers, whose squares and sums float16 does not hold, and vectors."""
    random = np.random.default_rng(3)
    images = [30 * random.standard_normal((2, 8, 16, 8)) + 600 for _ in range(3)]
    vectors = [random.uniform(0.5, 1.5, 8) for _ in range(VECTORS.get(operator, 0))]
    if operator == "Mean":
        return [60 * image for image in images]
    if operator == "Softmax":
        return [random.standard_normal((1, 1, 2, 70000))]
    if operator == "BatchNormalization":
        scale, bias = random.uniform(0.5, 1.5, (2, 8))
        return [images[0], scale, bias, images[0].mean((0, 2, 3)), images[0].var((0, 2, 3))]
    return [images[0], *vectors]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("operator", EXACT)
def test_statistics_are_rounded_once(operator: str, dtype: str) -> None:
    element, tolerance = TYPES[dtype]
    inputs = [array.astype(element) for array in _inputs(operator)]
    expected = EXACT[operator](*(array.astype(np.float64) for array in inputs))
    module = from_onnx(make_node_model(operator, inputs, opset=23))
    for found in (interpret(module, *inputs), build(module, threads=1)(*inputs)):
        assert found.dtype == element
        error = np.abs(found.astype(np.float64) - expected).max()
        assert error <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3, 257), (2, 5, 11, 7)])
def test_layer_norm_of_a_large_mean(shape: tuple[int, ...], bias: bool) -> None:
    """Over the last axes, with and without a bias: the mean does not take digits away."""
    random = np.random.default_rng(5)
    data = (random.standard_normal(shape) + 1e4).astype(np.float32)
    axis = 1 if len(shape) == 2 else 2
    vectors = random.uniform(0.5, 1.5, (2, *shape[axis:])).astype(np.float32)
    inputs = [data, *vectors[: 1 + bias]]
    axes = tuple(range(axis, len(shape)))
    expected = _standardized(data.astype(np.float64), axes) * vectors[0]
    expected = expected + vectors[1] if bias else expected
    module = from_onnx(make_node_model("LayerNormalization", inputs, axis=axis))
    for found in (interpret(module, *inputs), build(module, threads=1)(*inputs)):
        np.testing.assert_allclose(found, expected, 2e-6, 2e-6)


@pytest.mark.parametrize("operator", ["LayerNormalization", "RMSNormalization"])
def test_float64_is_normalised_in_float64(operator: str) -> None:
    """Also where the type of the intermediate result is left out, which means float32."""
    random = np.random.default_rng(7)
    data, scale = random.standard_normal((3, 16)) + 100, random.uniform(0.5, 1.5, 16)
    exact = {
        "LayerNormalization": _standardized(data, (1,)),
        "RMSNormalization": data / np.sqrt(np.square(data).mean(1, keepdims=True) + 1e-5),
    }
    module = from_onnx(make_node_model(operator, [data, scale], opset=23))
    for found in (interpret(module, data, scale), build(module, threads=1)(data, scale)):
        np.testing.assert_allclose(found, exact[operator] * scale, rtol=1e-11, atol=1e-11)
