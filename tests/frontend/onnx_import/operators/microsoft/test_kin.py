"""Operators that ONNX has, too, and those on quantized tables, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from relay_tune.building.build import build
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]
NodeModel = Callable[..., onnx.ModelProto]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_shapes_and_elements(check_microsoft: Check) -> None:
    x = floats(3, 4)
    pads = {1: np.array([0, 1, 2, 0]), 2: np.array([1.5], np.float32)}
    check_microsoft("Pad", x, None, None, constants=pads)
    check_microsoft("Trilu", x, constants={1: np.array(1)}, upper=0)
    check_microsoft("GatherND", x, np.array([[2, 1], [0, 3]]))
    check_microsoft("ExpandDims", x, None, constants={1: np.array(-1, np.int32)})
    check_microsoft("CDist", x, floats(5, 4), metric="sqeuclidean")
    check_microsoft("CDist", x, floats(5, 4), metric="euclidean")
    check_microsoft("GridSample", floats(1, 2, 5, 6), floats(1, 3, 4, 2) / 2, mode="bilinear")


def test_ranges_and_what_occurs(check_microsoft: Check) -> None:
    check_microsoft("Range", constants={0: np.array(2), 1: np.array(7)})
    check_microsoft("Range", constants={0: np.array(2), 1: np.array(9), 2: np.array(3)})
    check_microsoft("Unique", np.array([2, 1, 1, 3, 4, 3], np.float32), outputs=3)


def test_quantized_attention(check_microsoft: Check) -> None:
    random = np.random.default_rng(1)
    data = random.integers(0, 256, (2, 3, 8)).astype(np.uint8)
    weights = random.integers(-63, 64, (8, 24)).astype(np.int8)  # pairs saturate in onnxruntime
    scales = np.array(0.02, np.float32), np.array(0.03, np.float32)
    zeros = np.array(120, np.uint8), np.array(0, np.int8)
    mask = np.array([3, 2], np.int32)
    for which in (None, mask):
        check_microsoft(
            "QAttention", data, weights, floats(24), *scales, which, *zeros, num_heads=2, rtol=1e-3
        )


@pytest.mark.parametrize("has_zero", [True, False])
@pytest.mark.parametrize("bits", [4, 8])
def test_rows_of_a_quantized_table(check_microsoft: Check, has_zero: bool, bits: int) -> None:
    random, width = np.random.default_rng(2), 64
    table = random.integers(0, 256, (7, width * bits // 8)).astype(np.uint8)
    scales = floats(7, width // 16)
    zero = random.integers(0, 256, (7, width // 16 * bits // 8)).astype(np.uint8)
    others = {3: zero} if has_zero else {}
    check_microsoft(
        "GatherBlockQuantized",
        None,
        np.array([[0, 6], [3, 3]]),
        constants={0: table, 2: scales, **others},
        bits=bits,
        block_size=16,
        gather_axis=0,
        quantize_axis=1,
    )


def test_rows_of_a_table_of_narrow_integers() -> None:
    values = np.random.default_rng(3).integers(-8, 8, (5, 32))
    graph = helper.make_graph(
        [
            helper.make_node(
                "GatherBlockQuantized",
                ["t", "i", "s"],
                ["y"],
                domain="com.microsoft",
                block_size=16,
            )
        ],
        "g",
        [helper.make_tensor_value_info("i", TensorProto.INT64, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 32])],
        [
            helper.make_tensor("t", TensorProto.INT4, (5, 32), values.ravel().tolist()),
            onnx.numpy_helper.from_array(floats(5, 2), "s"),
        ],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    indices = np.array([4, 0, 2])
    (wanted,) = session.run(None, {"i": indices})
    np.testing.assert_allclose(build(from_onnx(model))(indices), wanted, rtol=1e-6)


def test_a_quantized_choice(node_model: NodeModel) -> None:
    random = np.random.default_rng(4)
    left, right = (random.integers(0, 256, (4, 5)).astype(np.uint8) for _ in range(2))
    scales = [np.array(v, np.float32) for v in (0.02, 0.05, 0.04)]
    zeros = [np.array(v, np.uint8) for v in (3, 120, 60)]
    constants = {1: left, 2: scales[0], 3: zeros[0], 5: scales[1], 6: zeros[1]}
    inputs = [left > right, None, None, None, right]
    model = node_model(
        "QLinearWhere",
        inputs,
        domain="com.microsoft",
        constants={**constants, 7: scales[2], 8: zeros[2]},
    )
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (wanted,) = session.run(None, {"x0": inputs[0], "x4": right})
    found = build(from_onnx(model))(inputs[0], right)
    assert found.dtype == wanted.dtype
    assert np.abs(found.astype(int) - wanted).max() <= 1  # rounded between, by tables there
