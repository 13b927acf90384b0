"""Names of the user's nodes: from files and texts to kernels and their titles."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import relay_tune as rt
from relay_tune.building.program_form import fused_module, kernel_functions
from relay_tune.ir.expr import Call
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.op.node_names import LONGEST_NAME, kernel_title, node_names, unique_titles
from relay_tune.tuning.tasks import extract_tasks
from relay_tune.typing.infer import infer_types


def _image_network(names: list[str]) -> onnx.ModelProto:
    """Two equal convolutions with normalisation, rectifier and padding, then a pool."""
    random = np.random.default_rng(0)
    weight = random.standard_normal((8, 8, 3, 3)).astype("float32")
    ones = np.ones(8, "float32")
    labels = iter(names)
    nodes = []
    value = "x"
    for number in range(2):
        conv = helper.make_node(
            "Conv", [value, "w"], [f"c{number}"], name=next(labels), pads=[1, 1, 1, 1]
        )
        norm = helper.make_node(
            "BatchNormalization", [f"c{number}", *["one"] * 4], [f"n{number}"], name=next(labels)
        )
        relu = helper.make_node("Relu", [f"n{number}"], [f"r{number}"], name=next(labels))
        nodes += [conv, norm, relu]
        value = f"r{number}"
    nodes.append(helper.make_node("GlobalAveragePool", [value], ["y"], name=next(labels)))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 12, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 1, 1])],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(ones, "one")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


NAMES = ["stem/conv", "stem/norm", "stem/relu", "schön/卷积", "b/norm", "b/relu", "pool"]


def _kernel_names(module: Module) -> list[tuple[str, ...]]:
    return [node_names(function) for function in kernel_functions(fused_module(module))]


def test_names_of_nodes_reach_every_call_of_every_kernel() -> None:
    fused = fused_module(infer_types(rt.from_onnx(_image_network(NAMES))))
    for function in kernel_functions(fused):
        for node in post_order(function.body):
            if isinstance(node, Call) and isinstance(node.callee, Operator):
                assert node.span is not None, node.callee.name


def test_the_main_node_of_a_kernel_comes_first() -> None:
    module = infer_types(rt.from_onnx(_image_network(NAMES)))
    names = _kernel_names(module)
    assert any(each[0] == "stem/conv" and "stem/relu" in each for each in names)
    assert any(each[0] == "schön/卷积" for each in names)
    assert any(each[0] == "pool" for each in names)


def test_equal_kernels_are_one_task_with_all_their_nodes() -> None:
    fused = fused_module(infer_types(rt.from_onnx(_image_network(NAMES))))
    shared = [task for task in extract_tasks(fused) if len(task.nodes) > 1]
    for task in shared:
        assert task.title.startswith(f"{task.nodes[0]} (+{len(task.nodes) - 1}): ")
    assert all(task.nodes for task in extract_tasks(fused))


def test_nodes_without_names_are_called_by_their_output() -> None:
    names = _kernel_names(infer_types(rt.from_onnx(_image_network([""] * 7))))
    assert any(each[0] == "c0" for each in names)


def test_titles_of_a_profile_are_unique_though_nodes_have_one_name() -> None:
    model = rt.build(rt.from_onnx(_image_network(["same"] * 7)), threads=1)
    x = np.random.default_rng(1).standard_normal((1, 8, 12, 12)).astype("float32")
    rows = model.profile(x).rows
    assert len({row.title for row in rows}) == len(rows)
    assert all(row.nodes == ("same",) for row in rows)


def test_nodes_of_text_are_called_by_their_line() -> None:
    text = (
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(16, 8), float32]) {\n"
        "  nn.relu(nn.dense(%x, %w))\n"
        "}\n"
    )
    (names,) = _kernel_names(infer_types(rt.parse(text, source_name="my.relay")))
    assert names == ("my.relay:3:11", "my.relay:3:3")


def test_titles() -> None:
    assert kernel_title("add 4", ()) == "add 4"
    assert kernel_title("add 4", ("a",)) == "a: add 4"
    assert kernel_title("add 4", ("a", "b", "c")) == "a (+2): add 4"
    long = kernel_title("add 4", ("x" * 30 + "/" + "y" * 30,))
    assert long == f"{'x' * 23}..{'y' * 23}: add 4"
    assert len(long) == LONGEST_NAME + len(": add 4")
    assert kernel_title("add 4", ("a\nb",)) == "a b: add 4"


def test_no_two_titles_are_the_same() -> None:
    titles = ["a", "a #2", "a", "a", "b"]
    unique = unique_titles(titles)
    assert unique == ["a", "a #2", "a #3", "a #4", "b"]
