"""Models that ask for too much: enormous shapes, overflowing integers, deep and doubling chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BIG = 10**12


def hostile_models() -> dict[str, onnx.ModelProto]:
    """The models by what is bad about them."""
    return {**_too_large(), **_impossible(), **_integers(), **_chains()}


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    weights: Mapping[str, object] | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    """A model with the output y."""
    tensors = [
        numpy_helper.from_array(np.asarray(array), name) for name, array in (weights or {}).items()
    ]
    outputs = [onnx.ValueInfoProto(name="y")]
    graph = helper.make_graph(list(nodes), "g", list(inputs), outputs, tensors)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions))


def value(name: str, *shape: int, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    """The declaration of an input."""
    return helper.make_tensor_value_info(name, dtype, shape)


def node(operator: str, *inputs: str, output: str = "y", **attributes: Any) -> onnx.NodeProto:
    """A node with one output."""
    return helper.make_node(operator, inputs, [output], name="bad", **attributes)


def _one(operator: str, *sizes: int, **attributes: Any) -> onnx.ModelProto:
    """One node on an input of 1 x 4 x 6 x 6 and a constant of some sizes."""
    inputs = ["x", "s"] if sizes else ["x"]
    weights = {"s": np.array(sizes, np.int64)} if sizes else {}
    return model([node(operator, *inputs, **attributes)], [value("x", 1, 4, 6, 6)], weights)


def _too_large() -> dict[str, onnx.ModelProto]:
    int64 = np.int64
    shaped = {"s": np.array([BIG], int64)}
    chain = [node("Concat", f"a{n}", f"a{n}", axis=0, output=f"a{n + 1}") for n in range(45)]
    return {
        "expand": _one("Expand", BIG, 4, 6, 6),
        "expand twice": _one("Expand", 2**40, 2**40, 1, 4, 6, 6),
        "tile": _one("Tile", BIG, 1, 1, 1),
        "tile beyond 2**63": _one("Tile", 2**62, 2**62, 1, 1),
        "pad": _one("Pad", 0, 0, 0, 0, 2**31 - 1, 2**31 - 1, 0, 0),
        "pad beyond 2**63": _one("Pad", 0, 0, 0, 0, 2**62, 2**62, 2**62, 0),
        "constant of shape": model([node("ConstantOfShape", "s")], [], shaped),
        "constant of shape used": model(
            [node("ConstantOfShape", "s", output="a"), node("Add", "a", "x")],
            [value("x", 1)],
            shaped,
        ),
        "range": model(
            [node("Range", "a", "b", "c")],
            [],
            {"a": int64(0), "b": int64(2**62), "c": int64(1)},
        ),
        "input": model([node("Relu", "x")], [value("x", BIG)]),
        "input beyond 2**63": model([node("Relu", "x")], [value("x", 2**40, 2**40)]),
        "outer product": model(
            [node("MatMul", "x", "z")], [value("x", 10**7, 1), value("z", 1, 10**7)]
        ),
        "broadcast": model([node("Add", "x", "z")], [value("x", 10**7, 1), value("z", 10**7)]),
        "doubling concatenations": model(
            [node("Relu", "x", output="a0"), *chain, node("Relu", "a45")], [value("x", 1024)]
        ),
        "resize": model(
            [node("Resize", "x", "", "s")],
            [value("x", 1, 4, 6, 6)],
            {"s": np.array([1, 1, 1e6, 1e6], np.float32)},
        ),
        "one hot": model(
            [node("OneHot", "x", "d", "v")],
            [value("x", 4, dtype=TensorProto.INT64)],
            {"d": int64(BIG), "v": np.array([0, 1], np.float32)},
        ),
        "eye": model([node("EyeLike", "x")], [value("x", 10**7, 10**7)]),
        "transposed convolution": model(
            [node("ConvTranspose", "x", "w", strides=[10**6, 10**6])],
            [value("x", 1, 1, 999, 999)],
            {"w": np.ones((1, 1, 3, 3), np.float32)},
        ),
        "weight without data": _weight_of_many_elements(),
    }


def _weight_of_many_elements() -> onnx.ModelProto:
    result = model([node("Relu", "w")], [])
    result.graph.initializer.append(
        TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[BIG], raw_data=b"\0" * 16)
    )
    return result


def _impossible() -> dict[str, onnx.ModelProto]:
    found = {
        f"block size {size}": _one("DepthToSpace", blocksize=size) for size in (0, -1, 2**31, 2**62)
    }
    found |= {
        f"space block size {size}": _one("SpaceToDepth", blocksize=size) for size in (0, 2**62)
    }
    attributes: dict[str, tuple[str, dict[str, Any]]] = {
        "window": ("MaxPool", {"kernel_shape": [2**40, 2]}),
        "empty window": ("MaxPool", {"kernel_shape": [0, 2]}),
        "stride 0": ("AveragePool", {"kernel_shape": [2, 2], "strides": [0, 1]}),
        "negative pads": ("MaxPool", {"kernel_shape": [2, 2], "pads": [-5, 0, 0, 0]}),
        "huge pads": ("AveragePool", {"kernel_shape": [2, 2], "pads": [2**30] * 4}),
        "dilation": ("MaxPool", {"kernel_shape": [2, 2], "dilations": [2**62, 1]}),
        "norm size": ("LRN", {"size": 2**31 - 1}),
        "flatten axis": ("Flatten", {"axis": 2**40}),
        "permutation": ("Transpose", {"perm": [0, 0, 1, 2]}),
        "softmax axis": ("Softmax", {"axis": -(2**63)}),
    }
    return found | {name: _one(op, **given) for name, (op, given) in attributes.items()}


def _integers() -> dict[str, onnx.ModelProto]:
    least = np.array([-(2**63), 5], np.int64)
    found = {}
    for operator in ("Div", "Mod"):
        for divisor in (-1, 0):
            weights = {"a": least, "b": np.array([divisor, divisor], np.int64)}
            name = f"{operator} {divisor}"
            found[f"{name} of constants"] = model([node(operator, "a", "b")], [], weights)
            inputs = [value("x", 2, dtype=TensorProto.INT64)]
            found[name] = model([node(operator, "x", "b")], inputs, {"b": weights["b"]})
            inputs = [value("x", 2, dtype=TensorProto.INT64), value("z", 2, dtype=7)]
            found[f"{operator} of inputs"] = model([node(operator, "x", "z")], inputs)
    far = {"i": np.array([2**62, -(2**62)], np.int64)}
    found["gather far away"] = model([node("Gather", "x", "i")], [value("x", 4)], far)
    places = [value("x", 4), value("i", 3, dtype=TensorProto.INT64)]
    found["gather somewhere"] = model([node("Gather", "x", "i")], places)
    spots = [value("x", 4, 4), value("i", 3, 2, dtype=7), value("u", 3)]
    found["scatter somewhere"] = model([node("ScatterND", "x", "i", "u")], spots)
    found["gather elements"] = model([node("GatherElements", "x", "i")], places)
    found["shift"] = model(
        [node("BitShift", "x", "z", direction="LEFT")],
        [value("x", 2, dtype=TensorProto.UINT32), value("z", 2, dtype=TensorProto.UINT32)],
    )
    return found


def _function(name: str, callee: str, calls: int) -> onnx.FunctionProto:
    domain = "local" if callee != "Relu" else ""
    names = ["a", *(f"t{n}" for n in range(1, calls)), "b"]
    body = [
        helper.make_node(callee, [x], [y], domain=domain)
        for x, y in zip(names, names[1:], strict=False)
    ]
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, ["a"], ["b"], body, imports)


def _called(depth: int, calls: int) -> onnx.ModelProto:
    functions = [
        _function(f"F{n}", f"F{n + 1}" if n < depth - 1 else "Relu", calls) for n in range(depth)
    ]
    return model([node("F0", "x", domain="local")], [value("x", 2)], functions=functions)


def _chains() -> dict[str, onnx.ModelProto]:
    itself = [_function("F0", "F0", 1)]
    call = node("F0", "x", domain="local")
    cycle = [node("Relu", "y", output="a"), node("Relu", "a")]
    return {
        "3000 functions deep": _called(3000, 1),
        "doubling functions": _called(40, 2),
        "a function that calls itself": model([call], [value("x", 2)], functions=itself),
        "a cycle": model(cycle, []),
    }
