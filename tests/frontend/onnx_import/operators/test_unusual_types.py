"""Integers where operators compute in floating point, and defaults of older versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from tests.frontend.onnx_import.conftest import make_node_model

Check = Callable[..., None]


def integers(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
@pytest.mark.parametrize(
    ("options", "against"),
    [({"mode": "linear"}, "onnxruntime"), ({"mode": "cubic"}, "reference")],
)
def test_interpolated_integers(
    check_node: Check, dtype: str, options: dict[str, object], against: str
) -> None:
    scales = np.array([1, 1, 1.5, 0.7], np.float32)
    data = integers(dtype, 1, 2, 4, 5)
    check_node("Resize", data, None, scales, constants={2: scales}, against=against, **options)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners"])
def test_interpolation_between_equal_integers_is_that_integer(dtype: str, coordinates: str) -> None:
    known = np.array([1, 1, 1.5, 0.7], np.float32)
    limits = np.iinfo(dtype)
    data = np.full((3, 1, 17, 23), 7, dtype)
    data[1:] = np.array([limits.min, limits.max]).reshape(2, 1, 1, 1)
    model = make_node_model(
        "Resize",
        [data, None, known],
        constants={2: known},
        mode="linear",
        coordinate_transformation_mode=coordinates,
    )
    (result,) = build(from_onnx(model)).run(None, {"x0": data})
    assert result.dtype == dtype
    assert np.all(result == data[:, :, :1, :1])


def test_the_nearest_element_before_there_was_a_mode(check_node: Check) -> None:
    scales = np.array([1, 1, 1.5, 0.7], np.float32)
    data, known = integers("float32", 1, 2, 4, 7), {1: scales}
    check_node("Resize", data, scales, constants=known, opset=10, against="onnxruntime")
    check_node("Resize", data, scales, opset=10, against="onnxruntime")


def test_shrunk_integers(check_node: Check) -> None:
    data = np.arange(-6, 7)
    check_node("Shrink", data, bias=1.7, lambd=2.0, against="onnxruntime")


def test_logarithms_of_integers(check_node: Check) -> None:
    known = {1: np.array([], np.int64)}
    for operator in ("ReduceLogSum", "ReduceLogSumExp"):
        data = integers("int32", 3, 4) + 1
        check_node(
            operator,
            data,
            known[1],
            constants=known,
            noop_with_empty_axes=1,
            opset=18,
            native=True,
            against="onnxruntime",
        )


def test_normalization_over_all_axes_but_channels(check_node: Check) -> None:
    data = np.random.default_rng(1).standard_normal((2, 3, 5)).astype(np.float32)
    check_node("MeanVarianceNormalization", data, opset=13, against="onnxruntime")


@pytest.mark.parametrize("opset", [7, 10, 12])
def test_the_mask_of_no_dropout(check_node: Check, opset: int) -> None:
    data = integers("float32", 3, 4)
    check_node("Dropout", data, outputs=2, opset=opset, against="onnxruntime")
