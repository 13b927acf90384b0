"""Values for inputs that become constants, and what they decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay_tune.errors import InputError, RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret


def sampled(rate_type: int = TensorProto.INT64, rate_shape: tuple[int, ...] = ()) -> Any:
    """A sampling rate decides how long the windows are, so that the branches differ in rank."""

    def branch(name: str, width: int) -> onnx.GraphProto:
        shape = numpy_helper.from_array(np.array([1, -1, width][-width // 2 :], np.int64), name)
        nodes = [helper.make_node("Reshape", ["x", name], [f"{name}_out"])]
        output = helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, None)
        return helper.make_graph(nodes, name, [], [output], [shape])

    nodes = [
        helper.make_node("Cast", ["sr"], ["rate"], to=TensorProto.INT64),
        helper.make_node("Squeeze", ["rate"], ["scalar"]) if rate_shape else None,
        helper.make_node("Equal", ["scalar" if rate_shape else "rate", "high"], ["is_high"]),
        helper.make_node(
            "If", ["is_high"], ["y"], then_branch=branch("a", 4), else_branch=branch("b", 6)
        ),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 24]),
        helper.make_tensor_value_info("sr", rate_type, rate_shape),
    ]
    high = numpy_helper.from_array(np.array(16000, np.int64), "high")
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    kept = [node for node in nodes if node is not None]
    graph = helper.make_graph(kept, "g", inputs, outputs, [high])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


X = np.random.default_rng(0).standard_normal((2, 24)).astype(np.float32)


@pytest.mark.parametrize("rate", [16000, 8000])
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [(np.int64, ()), (np.int32, ()), (np.int64, (1,)), (np.float32, (1,))],
)
def test_a_number_is_converted_and_decides_the_branch(
    rate: int, dtype: type, shape: tuple[int, ...]
) -> None:
    model = sampled(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, {"x": X, "sr": np.full(shape, rate, dtype)})
    module = from_onnx(model, constants={"sr": rate})
    assert [param.name for param in module.main.params] == ["x"]
    np.testing.assert_array_equal(interpret(module, x=X), expected)


def test_a_branch_that_an_input_decides_says_so() -> None:
    with pytest.raises(RelayError) as error:
        from_onnx(sampled())
    assert "--constant sr=16000" in str(error.value)
    assert "constants={'sr': 16000}" in str(error.value)


def test_a_declared_rank_makes_no_windows_of_others() -> None:
    model = sampled()
    for _ in range(2):  # the windows of 4; those of 6 have as many elements, but three axes
        model.graph.output[0].type.tensor_type.shape.dim.add()
    with pytest.raises(RelayError, match="--constant sr=16000"):
        from_onnx(model)


def test_a_wrong_name_lists_the_right_ones() -> None:
    with pytest.raises(InputError, match="The inputs are x, sr"):
        from_onnx(sampled(), constants={"rate": 16000})


@pytest.mark.parametrize("value", [1.5, "high", [1, 2], np.float32(3), [[1], [2, 3]], 2**70])
def test_values_that_do_not_fit_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="'sr'"):
        from_onnx(sampled(), constants={"sr": value})


def test_a_loop_is_as_long_as_a_given_value_says() -> None:
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("Add", ["sum", "x"], ["next"]),
            helper.make_node("Identity", ["next"], ["row"]),
        ],
        "body",
        [
            info("round", TensorProto.INT64, []),
            info("go", TensorProto.BOOL, []),
            info("sum", TensorProto.FLOAT, [3]),
        ],
        [
            info("go_on", TensorProto.BOOL, []),
            info("next", TensorProto.FLOAT, [3]),
            info("row", TensorProto.FLOAT, [3]),
        ],
    )
    loop = helper.make_node("Loop", ["rounds", "", "x"], ["last", "rows"], body=body)
    inputs = [info("x", TensorProto.FLOAT, [3]), info("rounds", TensorProto.INT64, [])]
    outputs = [info("last", TensorProto.FLOAT, [3]), info("rows", TensorProto.FLOAT, None)]
    graph = helper.make_graph([loop], "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    x = np.array([1, 2, 3], np.float32)
    last, rows = interpret(from_onnx(model, constants={"rounds": 3}), x=x)
    np.testing.assert_array_equal(last, 4 * x)
    np.testing.assert_array_equal(rows, [2 * x, 3 * x, 4 * x])
