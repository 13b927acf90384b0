"""Weights of a file keep their name and shape, however the file reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import relay_tune as rt
from relay_tune.ir.expr import Call
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.training import parameters_of

W = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
X = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)


def _model(
    nodes: Sequence[onnx.NodeProto],
    values: dict[str, np.ndarray],
    shape: Sequence[int | str] = (2, 3),
    opset: int = 17,
) -> bytes:
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def _check(model: bytes, x: np.ndarray) -> rt.Module:
    """The module, which gives what onnxruntime gives, built as well."""
    (expected,) = onnxruntime.InferenceSession(model).run(None, {"x": x})
    module = rt.from_onnx(model)
    np.testing.assert_allclose(rt.interpret(module, x), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rt.build(module, threads=1)(x), expected, rtol=1e-5, atol=1e-6)
    return module


def _operators(module: rt.Module) -> set[str]:
    nodes = post_order(module.main.body)
    return {node.callee.name for node in nodes
            if isinstance(node, Call) and isinstance(node.callee, Operator)}  # fmt: skip


FORMS = {
    "transposed": [
        helper.make_node("Transpose", ["w"], ["t"]),
        helper.make_node("Gemm", ["x", "t"], ["y"], transB=1),
    ],
    "reshaped": [
        helper.make_node("Reshape", ["w", "shape"], ["r"]),
        helper.make_node("Gemm", ["x", "r"], ["y"], transB=1),
    ],
    "read twice": [
        helper.make_node("Transpose", ["w"], ["t"]),
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("MatMul", ["h", "t"], ["y"]),
    ],
    "in parts": [
        helper.make_node("Split", ["w"], ["a", "b"], axis=1),
        helper.make_node("Concat", ["b", "a"], ["c"], axis=1),
        helper.make_node("MatMul", ["x", "c"], ["y"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_weight_is_one_constant(form: str) -> None:
    values = {"w": W, "shape": np.array([4, 3])}
    module = _check(_model(FORMS[form], values), X)
    found = parameters_of(module)
    assert list(found) == ["w"]
    np.testing.assert_array_equal(found["w"], W)


def test_weights_of_one_element_are_trained() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("PRelu", ["h", "slope"], ["p"]),
        helper.make_node("Gemm", ["p", "column", "bias"], ["y"], beta=0.5),
    ]
    one = np.array([0.25], np.float32)
    values = {"w": W, "slope": one, "column": W[:1].T.copy(), "bias": one}
    found = parameters_of(_check(_model(nodes, values), X))
    assert {name: value.shape for name, value in found.items()} == {
        name: value.shape for name, value in values.items()
    }


def test_builds_compute_what_is_made_of_weights() -> None:
    module = rt.from_onnx(_model(FORMS["in parts"], {"w": W}))
    assert "1 concatenate" in repr(module)
    assert ", 1 operators (1 nn.matmul), 12 weights" in repr(rt.default_pipeline()(module))


@pytest.mark.parametrize("shape", [(1, 2, 3, 3), (1, 2, "h", "w")])
def test_scales_that_are_made_of_weights_are_known(shape: Sequence[int | str]) -> None:
    nodes = [
        helper.make_node("Split", ["scales"], ["front", "back"], axis=0),
        helper.make_node("Mul", ["back", "half"], ["halved"]),
        helper.make_node("Concat", ["front", "halved"], ["all"], axis=0),
        helper.make_node("Resize", ["x", "", "all"], ["y"], mode="nearest"),
    ]
    values = {
        "scales": np.array([1, 1, 4, 4], np.float32),
        "half": np.array([0.5, 0.5], np.float32),
    }
    x = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)
    module = _check(_model(nodes, values, shape), x)
    assert not any(name.startswith("dyn.") for name in _operators(module))


def test_sizes_that_are_made_of_weights_are_known() -> None:
    nodes = [
        helper.make_node("Mul", ["sizes", "halves"], ["product"]),
        helper.make_node("Floor", ["product"], ["floor"]),
        helper.make_node("Cast", ["floor"], ["target"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    values = {
        "sizes": np.array([7, 4], np.float32),
        "halves": np.array([0.5, 0.5], np.float32),
    }
    module = _check(_model(nodes, values), X)
    assert module.main.body.type == rt.TensorType((3, 2), "float32")


def test_a_range_and_places_that_are_made_of_weights_are_known() -> None:
    nodes = [
        helper.make_node("Neg", ["v"], ["n"]),
        helper.make_node("NonZero", ["n"], ["places"]),
        helper.make_node("Gather", ["n", "end"], ["last"]),
        helper.make_node("Range", ["zero", "last", "one"], ["numbers"]),
        helper.make_node("Cast", ["places"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["floats", "numbers"], ["sums"]),
        helper.make_node("MatMul", ["x", "column"], ["h"]),
        helper.make_node("Add", ["h", "sums"], ["y"]),
    ]
    values = {
        "v": np.array([-1, 0, -3], np.float32),
        "end": np.array(2),
        "zero": np.array(0, np.float32),
        "one": np.array(1.5, np.float32),
        "column": np.ones((3, 1), np.float32),
    }
    module = _check(_model(nodes, values), X)
    assert module.main.body.type == rt.TensorType((2, 2), "float32")


def test_long_chains_of_weights_are_left_to_builds() -> None:
    names = ["w", *(f"w{index}" for index in range(300))]
    nodes = [
        helper.make_node("Add", [before, before], [after])
        for before, after in zip(names, names[1:], strict=False)
    ]
    nodes.append(helper.make_node("MatMul", ["x", names[-1]], ["y"]))
    small = np.full((3, 4), 2.0**-120, np.float32)
    module = rt.from_onnx(_model(nodes, {"w": small}))
    assert rt.build(module, threads=1)(X).shape == (2, 4)


def test_scales_and_limits_of_one_element_are_numbers() -> None:
    """Passes that run before constants are folded find them."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        helper.make_node("Clip", ["d", "low"], ["y"]),
    ]
    one = np.array([0.25], np.float32)
    values = {"scale": one, "zero": np.array([3], np.uint8), "low": one}
    module = _check(_model(nodes, values), X)
    assert "reshape" not in _operators(module)


def test_weights_that_nothing_reads_may_have_any_type() -> None:
    """Converters leave label names beside the network, which no node reads."""
    model = onnx.load_from_string(_model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": W}))
    model.graph.initializer.append(helper.make_tensor("labels", TensorProto.STRING, [1], [b"cat"]))
    _check(model.SerializeToString(), X)
