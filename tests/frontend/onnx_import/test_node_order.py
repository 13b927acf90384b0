"""Files whose nodes are not sorted, as converters write them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.frontend.onnx_import.node_order import in_order
from relay_tune.runtime.interpreter.interpret import interpret

NODES = [
    helper.make_node("Exp", ["b"], ["y"]),
    helper.make_node("Relu", ["x"], ["a"]),
    helper.make_node("Add", ["a", "c"], ["b"]),
    helper.make_node("Neg", ["x"], ["c"]),
]


def model(nodes: list[object]) -> object:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
    graph = helper.make_graph(nodes, "unsorted", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def test_nodes_come_behind_what_they_read() -> None:
    assert [node.op_type for node in in_order(NODES)] == ["Relu", "Neg", "Add", "Exp"]
    x = np.array([-1.0, 0.0, 2.0], np.float32)
    found = interpret(from_onnx(model(NODES)), x)
    np.testing.assert_allclose(found, np.exp(np.maximum(x, 0) - x), rtol=1e-6)


def test_sorted_nodes_stay() -> None:
    nodes = in_order(NODES)
    assert in_order(nodes) is nodes


def test_a_graph_inside_of_a_node_reads_too() -> None:
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, [3])
    branches = {
        name: helper.make_graph([helper.make_node(kind, ["c"], ["out"])], name, [], [out])
        for name, kind in (("then_branch", "Exp"), ("else_branch", "Identity"))
    }
    choose = helper.make_node("If", ["yes"], ["y"], **branches)
    yes = helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("v", 9, [], [True]))
    found = interpret(from_onnx(model([choose, NODES[3], yes])), np.ones(3, np.float32))
    np.testing.assert_allclose(found, np.exp(-np.ones(3, np.float32)), rtol=1e-6)


def test_circles_are_refused() -> None:
    circle = [helper.make_node("Add", ["x", "y"], ["a"]), helper.make_node("Exp", ["a"], ["y"])]
    assert in_order(circle) is circle
    with pytest.raises(ModelError, match="used before it is computed"):
        from_onnx(model(circle))
