"""rt.grad and its relatives."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import relay_tune as rt
from tests.training.network import loss_and_gradients, weights

CUBES = rt.parse("def @main(%x: Tensor[(3), float64], %y: float64) { sum(%x * %x * %x) * %y }")
X = np.array([1.0, -2.0, 3.0])
Y = np.float64(2.0)


def test_values_and_derivatives() -> None:
    value, (first, second) = rt.interpret(rt.value_and_grad(CUBES), X, Y)
    assert value == pytest.approx(40.0)
    np.testing.assert_allclose(first, 6 * X**2)
    assert second == pytest.approx(20.0)
    (only,) = rt.interpret(rt.grad(CUBES, wrt="x"), X, Y)
    np.testing.assert_allclose(only, 6 * X**2)


def test_a_vector_times_the_jacobian() -> None:
    rows = rt.parse("def @main(%x: Tensor[(3), float64]) { %x * %x }")
    value, (adjoint,) = rt.interpret(rt.vjp(rows), X, np.array([1.0, 10.0, 100.0]))
    np.testing.assert_allclose(value, X**2)
    np.testing.assert_allclose(adjoint, 2 * X * [1, 10, 100])


def test_weights_of_a_file_by_their_names() -> None:
    values = weights()
    nodes = [
        helper.make_node("Gemm", ["x", "layer.w"], ["h"], transB=1),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("Gemm", ["t", "layer.v"], ["l"], transB=1),
        helper.make_node("SoftmaxCrossEntropyLoss", ["l", "labels"], ["loss"]),
    ]
    graph = helper.make_graph(
        nodes,
        "loss",
        [
            helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (6, 4)),
            helper.make_tensor_value_info("labels", onnx.TensorProto.INT64, (6,)),
        ],
        [helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, ())],
        [numpy_helper.from_array(values[name], f"layer.{name}") for name in ("w", "v")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    module = rt.from_onnx(model.SerializeToString())
    assert list(rt.training.parameters_of(module)) == ["layer.w", "layer.v"]
    asked = rt.value_and_grad(module, wrt=["layer.w", "layer.v"])
    generator = np.random.default_rng(5)
    x, labels = generator.standard_normal((6, 4), np.float32), generator.integers(0, 3, 6)
    loss, (w, v) = rt.build(asked, threads=1)(x, labels, values["w"], values["v"])
    expected, gradients = loss_and_gradients(values, x, labels)
    assert loss == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(w, gradients["w"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(v, gradients["v"], rtol=1e-4, atol=1e-6)


def test_parameters_that_there_are_not() -> None:
    with pytest.raises(rt.InputError, match="no parameter 'z'"):
        rt.grad(CUBES, wrt="z")


def _imported(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int, tuple[int, ...]]],
    values: dict[str, np.ndarray],
) -> rt.Module:
    """A network of a file that returns `loss`, a number of float64."""
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(name, *given) for name, given in inputs.items()],
        [helper.make_tensor_value_info("loss", onnx.TensorProto.DOUBLE, ())],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return rt.from_onnx(model.SerializeToString())


def test_numbers_of_which_something_is_computed_can_be_chosen() -> None:
    """A temperature that a network has the exponential of; that has no name of its own."""
    nodes = [
        helper.make_node("Exp", ["t"], ["e"]),
        helper.make_node("Mul", ["x", "w"], ["y"]),
        helper.make_node("Mul", ["y", "e"], ["z"]),
        helper.make_node("ReduceSum", ["z"], ["loss"], keepdims=0),
    ]
    values = {"t": np.array(0.3), "w": np.ones(3)}
    module = _imported(nodes, {"x": (onnx.TensorProto.DOUBLE, (3,))}, values)
    x = np.array([1.0, 2.0, -0.5])
    asked = rt.value_and_grad(module, wrt="t")
    loss, (slope,) = rt.interpret(asked, x, np.array(0.3))
    assert float(loss) == pytest.approx(2.5 * np.exp(0.3)) == pytest.approx(float(slope))
    with pytest.raises(rt.InputError, match="no parameter 'e'") as found:
        rt.grad(module, wrt="e")
    assert "parameters are: x, w, t" in str(found.value) and "exp(t)" in str(found.value)


def test_an_embedding_that_is_the_last_layer_too_has_one_gradient() -> None:
    generator = np.random.default_rng(6)
    table, slope = generator.standard_normal((5, 3)), generator.standard_normal((4, 5))
    indices = np.array([1, 4, 1, 0])
    nodes = [
        helper.make_node("Gather", ["table", "i"], ["rows"]),
        helper.make_node("Transpose", ["table"], ["t"]),
        helper.make_node("MatMul", ["rows", "t"], ["logits"]),
        helper.make_node("Mul", ["logits", "slope"], ["terms"]),
        helper.make_node("ReduceSum", ["terms"], ["loss"], keepdims=0),
    ]
    inputs = {"i": (onnx.TensorProto.INT64, (4,)), "slope": (onnx.TensorProto.DOUBLE, (4, 5))}
    module = _imported(nodes, inputs, {"table": table})
    asked = rt.value_and_grad(module, wrt="table")
    loss, (found,) = rt.build(asked, threads=1)(indices, slope, table)
    expected = slope.T @ table[indices]
    np.add.at(expected, indices, slope @ table)
    assert loss == pytest.approx((table[indices] @ table.T * slope).sum())
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_weights_of_a_recurrent_layer_have_gradients() -> None:
    generator = np.random.default_rng(7)
    values = {
        "lstm.w": generator.standard_normal((1, 8, 3)),
        "lstm.r": generator.standard_normal((1, 8, 2)),
        "lstm.b": generator.standard_normal((1, 16)),
    }
    nodes = [
        helper.make_node("LSTM", ["x", *values], ["h"], hidden_size=2),
        helper.make_node("ReduceSum", ["h"], ["loss"], keepdims=0),
    ]
    module = _imported(nodes, {"x": (onnx.TensorProto.DOUBLE, (3, 2, 3))}, values)
    found = rt.training.parameters_of(module)
    assert {name: found[name].shape for name in values} == {n: v.shape for n, v in values.items()}
    x = generator.standard_normal((3, 2, 3))
    asked = rt.value_and_grad(module, wrt=list(values))
    _, gradients = rt.build(asked, threads=1)(x, *values.values())
    forward = rt.build(rt.training.with_parameters(module, list(values)), threads=1)
    for place, (name, value) in enumerate(values.items()):
        direction = generator.standard_normal(value.shape)
        ends = [
            forward(x, *(value + sign * 1e-5 * direction if each == name else values[each]
                         for each in values))
            for sign in (1, -1)
        ]  # fmt: skip
        slope = (gradients[place] * direction).sum()
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


FLAG = (onnx.TensorProto.BOOL, ())
THREE = (onnx.TensorProto.DOUBLE, (3,))


def _body(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int, tuple[int, ...]]],
    outputs: dict[str, tuple[int, tuple[int, ...]]],
) -> onnx.GraphProto:
    """A graph inside of a node, with a weight of its own."""
    return helper.make_graph(
        nodes,
        "body",
        [helper.make_tensor_value_info(name, *given) for name, given in inputs.items()],
        [helper.make_tensor_value_info(name, *given) for name, given in outputs.items()],
        [numpy_helper.from_array(np.array([1.0, 2.0, 3.0]), "w")],
    )


@pytest.mark.parametrize("depth", [1, 2])
def test_a_weight_in_the_body_of_a_loop_has_one_gradient(depth: int) -> None:
    inputs = {"round": (onnx.TensorProto.INT64, ()), "go": FLAG, "carried": THREE}
    nodes = [helper.make_node("Mul", ["carried", "w"], ["next"])]
    for _ in range(depth):
        nodes.append(helper.make_node("Identity", ["go"], ["on"]))
        body = _body(nodes, inputs, {"on": FLAG, "next": THREE})
        nodes = [helper.make_node("Loop", ["rounds", "", "carried"], ["next"], body=body)]
    nodes = [
        helper.make_node("Identity", ["x"], ["carried"]),
        *nodes,
        helper.make_node("ReduceSum", ["next"], ["loss"], keepdims=0),
    ]
    module = _imported(nodes, {"x": THREE}, {"rounds": np.array(2)})
    (w,) = rt.training.parameters_of(module).values()
    _, (found,) = rt.build(rt.value_and_grad(module, wrt="w"), threads=1)(np.ones(3), w)
    times = 2**depth
    np.testing.assert_allclose(found, times * w ** (times - 1))


def test_weights_of_one_name_are_refused() -> None:
    branches = {
        f"{name}_branch": _body([helper.make_node(operator, ["x", "w"], ["y"])], {}, {"y": THREE})
        for name, operator in (("then", "Mul"), ("else", "Add"))
    }
    nodes = [
        helper.make_node("If", ["flag"], ["y"], **branches),
        helper.make_node("ReduceSum", ["y"], ["loss"], keepdims=0),
    ]
    module = _imported(nodes, {"flag": FLAG, "x": THREE}, {})
    with pytest.raises(rt.InputError, match="2 weights are called 'w'"):
        rt.training.with_parameters(module)


def test_constants_that_nodes_make_are_told_apart() -> None:
    """They have the places of nodes, but are no weights of the file."""
    nodes = [
        helper.make_node("Constant", [], ["a"], value=numpy_helper.from_array(np.full(3, 2.0))),
        helper.make_node("Constant", [], ["b"], value=numpy_helper.from_array(np.full(3, 3.0))),
        helper.make_node("Mul", ["x", "a"], ["h"]),
        helper.make_node("Add", ["h", "b"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "constants",
        [helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, (3,))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, (3,))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    module = rt.from_onnx(model.SerializeToString())
    assert list(rt.training.parameters_of(module)) == ["weight_0", "weight_1"]
    assert len(rt.training.with_parameters(module).main.params) == 3


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_coefficients_of_a_resize_are_no_weights(mode: str) -> None:
    half, scales = np.full(3, 0.5, np.float32), np.array([1, 1, 2, 2], np.float32)
    nodes = [
        helper.make_node("Constant", [], ["a"], value=numpy_helper.from_array(half)),
        helper.make_node("Exp", ["a"], ["b"]),
        helper.make_node("Split", ["b"], ["c", "d"], axis=0, num_outputs=2),
        helper.make_node("Resize", ["x", "", "scales"], ["h"], mode=mode),
        helper.make_node("Mul", ["h", "d"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "resized",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 1, 4, 4))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (1, 1, 8, 8))],
        [numpy_helper.from_array(scales, "scales")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    (found,) = rt.training.parameters_of(rt.from_onnx(model.SerializeToString())).values()
    np.testing.assert_allclose(found, np.exp(half[:1]))


def test_of_a_file_with_weights_these_alone_are_trained() -> None:
    nodes = [
        helper.make_node("Constant", [], ["a"], value=numpy_helper.from_array(np.full(3, 2.0))),
        helper.make_node("Mul", ["x", "a"], ["h"]),
        helper.make_node("Add", ["h", "w"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "weights",
        [helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, (3,))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, (3,))],
        [numpy_helper.from_array(np.ones(3), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert list(rt.training.parameters_of(rt.from_onnx(model.SerializeToString()))) == ["w"]
