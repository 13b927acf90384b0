from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from relay_tune.errors import InputError, UnsupportedOperatorError
from relay_tune.onnx_backend import Backend


def sum_model() -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
            helper.make_tensor_value_info("axes", TensorProto.INT64, [1]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.parametrize("axis", [0, 1])
def test_values_that_the_import_needs_are_taken_from_the_inputs(axis: int) -> None:
    representation = Backend.prepare(sum_model())
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for chosen in (axis, 1 - axis):
        (result,) = representation.run([x, np.array([chosen], np.int64)])
        np.testing.assert_array_equal(result, x.sum(axis=chosen))


def test_inputs_by_name_and_their_number() -> None:
    representation = Backend.prepare(sum_model())
    x, axes = np.ones((2, 3), np.float32), np.array([0], np.int64)
    (result,) = representation.run({"axes": axes, "x": x})
    np.testing.assert_array_equal(result, [2, 2, 2])
    with pytest.raises(InputError, match="2 input"):
        representation.run([x])
    with pytest.raises(InputError, match="missing"):
        representation.run({"x": x})


def test_devices() -> None:
    assert Backend.supports_device("CPU:0")
    assert not Backend.supports_device("CUDA")
    with pytest.raises(InputError, match="CUDA"):
        Backend.prepare(sum_model(), "CUDA")


def test_what_is_not_supported_is_refused_at_once() -> None:
    model = sum_model()
    model.graph.node[0].op_type = "RegexFullMatch"
    assert Backend.is_compatible(sum_model())
    assert not Backend.is_compatible(model)
    with pytest.raises(UnsupportedOperatorError, match="RegexFullMatch"):
        Backend.prepare(model)
