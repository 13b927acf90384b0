"""Models whose names, attributes, subgraphs or weights contradict each other or go very deep."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.fuzzing.hostile import model, node, value

NAMES = {
    "NUL": "a\0b",
    "a newline": "a\nb",
    "other scripts": "größe/\u65e5\u672c",
    "from right to left": "\u202ea",
    "a path": "../../../etc/passwd",
    "a percent sign": "%a{0}%s",
    "markup": "<script>",
    "quotes": "\"'\\",
    "emptiness": "",
    "a number": "0",
    "a word of C": "int",
    "length": "x" * 100_000,
}


def hostile_graphs() -> dict[str, onnx.ModelProto]:
    """The models by what is bad about them."""
    return {**_named(), **_twice(), **_missing(), **_attributes(), **_weights(), **_subgraphs()}


def _named() -> dict[str, onnx.ModelProto]:
    """Inputs, nodes, outputs and weights with odd names."""
    found = {}
    for what, name in NAMES.items():
        whole = model(
            [node("Add", name, f"{name}w", output=f"{name}y")],
            [value(name, 2)],
            {f"{name}w": np.ones(2, np.float32)},
        )
        whole.graph.output[0].name = f"{name}y"
        whole.graph.node[0].name = whole.graph.name = name
        found[f"named with {what}"] = whole
        found[f"an operator with {what}"] = model([node(name or "Q", "x")], [value("x", 2)])
        found[f"sizes with {what}"] = _sized(name)
    return found


def _sized(name: str) -> onnx.ModelProto:
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [name, 2])
    return model([node("Relu", "x")], [info])


def _twice() -> dict[str, onnx.ModelProto]:
    relu, x = node("Relu", "x"), value("x", 2)
    weight = numpy_helper.from_array(np.ones(2, np.float32), "w")
    two_weights = model([node("Add", "x", "w")], [x])
    two_weights.graph.initializer.extend([weight, weight])
    two_outputs = model([relu], [x])
    two_outputs.graph.output.append(onnx.ValueInfoProto(name="y"))
    return {
        "an output twice": model([relu, node("Sigmoid", "x")], [x]),
        "an input twice": model([relu], [x, x]),
        "a weight twice": two_weights,
        "a result twice": two_outputs,
        "a node writes an input": model([node("Relu", "x", output="x"), relu], [x]),
        "a weight and a node": model(
            [node("Relu", "x", output="w"), node("Add", "x", "w")], [x], {"w": np.ones(2)}
        ),
        "a node is its own input": model([node("Add", "x", "y")], [x]),
        "nodes in the wrong order": model([node("Relu", "a"), node("Relu", "x", output="a")], [x]),
        "an attribute twice": _two_attributes(),
    }


def _two_attributes() -> onnx.ModelProto:
    twice = node("Softmax", "x", axis=0)
    twice.attribute.append(helper.make_attribute("axis", 7))
    return model([twice], [value("x", 2)])


def _missing() -> dict[str, onnx.ModelProto]:
    x = value("x", 2)
    no_output = model([node("Relu", "x")], [x])
    del no_output.graph.output[:]
    nothing = model([], [])
    del nothing.graph.output[:]
    untyped = model([node("Relu", "x")], [onnx.ValueInfoProto(name="x")])
    odd_type = model([node("Relu", "x")], [value("x", 2, dtype=99)])
    opset = model([node("Relu", "x")], [x])
    opset.opset_import[0].version = 2**62
    domain = model([helper.make_node("Relu", ["x"], ["y"], domain="com.example")], [x])
    return {
        "no outputs": no_output,
        "nothing at all": nothing,
        "an input without a type": untyped,
        "an element type that is none": odd_type,
        "an operator set of the future": opset,
        "an operator set that is not imported": domain,
        "an output that nobody writes": model([node("Relu", "x", output="z")], [x]),
        "an input that nobody gives": model([node("Relu", "z")], [x]),
        "an input that is left out": model([node("Add", "x", "")], [x]),
        "too many inputs": model([node("Relu", *["x"] * 50)], [x]),
        "too many outputs": model(
            [helper.make_node("Relu", ["x"], ["y", *(f"z{n}" for n in range(50))])], [x]
        ),
        "no inputs": model([helper.make_node("Relu", [], ["y"])], [x]),
    }


def _attributes() -> dict[str, onnx.ModelProto]:
    x = value("x", 1, 4, 6, 6)
    graph = helper.make_graph([], "g", [], [])
    values = {"a float": 1.5, "a text": b"\xff\0", "numbers": [1, 2**62], "a graph": graph}
    found = {
        f"{operator} with {what} as {name}": model([node(operator, "x", **{name: given})], [x])
        for operator, name in (
            ("Softmax", "axis"),
            ("MaxPool", "kernel_shape"),
            ("Transpose", "perm"),
            ("Cast", "to"),
            ("Flatten", "axis"),
        )
        for what, given in values.items()
    }
    for to in (0, 8, 99, -1, 2**40):
        found[f"cast to {to}"] = model([node("Cast", "x", to=to)], [x])
    return found


def _weights() -> dict[str, onnx.ModelProto]:
    def used(tensor: TensorProto) -> onnx.ModelProto:
        tensor.name = "w"
        found = model([node("Relu", "w")], [])
        found.graph.initializer.append(tensor)
        return found

    outside = TensorProto(data_type=TensorProto.FLOAT, dims=[2])
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="../../../../etc/passwd")
    dims: dict[str, list[int]] = {
        "of 2**62 elements": [2**62],
        "of 2**186 elements": [2**62] * 3,
        "of nothing times 2**62": [0, 2**62],
        "of a negative size": [-1],
        "of 100 axes": [1] * 100,
    }
    found = {
        f"a weight {what}": used(TensorProto(data_type=1, dims=sizes, raw_data=b"\0" * 4))
        for what, sizes in dims.items()
    }
    return found | {
        "a weight outside of the folder": used(outside),
        "a weight without a type": used(TensorProto(dims=[1], raw_data=b"\0" * 4)),
        "a weight of texts": used(helper.make_tensor("w", TensorProto.STRING, [1], [b"\xff"])),
        "a weight of infinities": used(
            numpy_helper.from_array(np.array([np.inf, np.nan, -0.0], np.float32))
        ),
        "a weight with two kinds of data": used(
            TensorProto(data_type=1, dims=[1], raw_data=b"\0" * 4, float_data=[1.0, 2.0])
        ),
    }


def _subgraphs() -> dict[str, onnx.ModelProto]:
    return {
        "20 branches deep": model([_branch(20)], [value("c", dtype=TensorProto.BOOL)]),
        "a branch without a result": model(
            [node("If", "c", then_branch=_graph([]), else_branch=_graph([]))],
            [value("c", dtype=TensorProto.BOOL)],
        ),
        "an if without branches": model([node("If", "c")], [value("c", dtype=TensorProto.BOOL)]),
        "a loop without a body": model([node("Loop", "", "")], []),
        "a loop of 2**62 rounds": model(
            [node("Loop", "m", "", "x", body=_body())],
            [value("x", 2)],
            {"m": np.int64(2**62)},
        ),
        "a scan of nothing": model([node("Scan", "x", num_scan_inputs=0)], [value("x", 2)]),
        "a scan of 2**62 inputs": model(
            [node("Scan", "x", num_scan_inputs=2**62, body=_body())], [value("x", 2)]
        ),
    }


def _graph(nodes: list[onnx.NodeProto]) -> onnx.GraphProto:
    return helper.make_graph(nodes, "b", [], [onnx.ValueInfoProto(name="y")] if nodes else [])


def _branch(depth: int) -> onnx.NodeProto:
    constant = numpy_helper.from_array(np.ones(2, np.float32))
    found = node("Constant", value=constant)
    for _ in range(depth):
        other = node("Constant", value=constant)
        found = node("If", "c", then_branch=_graph([found]), else_branch=_graph([other]))
    return found


def _body() -> onnx.GraphProto:
    return helper.make_graph(
        [
            helper.make_node("Identity", ["k"], ["l"]),
            helper.make_node("Add", ["a", "a"], ["b"]),
        ],
        "body",
        [value("i", dtype=7), value("k", dtype=TensorProto.BOOL), value("a", 2)],
        [value("l", dtype=TensorProto.BOOL), value("b", 2)],
    )
