"""Damaged models: bytes that change, and graphs whose numbers, names and operators change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import onnx
from onnx import numpy_helper

T = TypeVar("T")

EXTREMES = (
    *(0, 0, 1, 1, -1, -1, 2, 2, 3, 3, 4, 5, -2, -7, 12, 100),
    *(2**16, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63)),
)
OPERATORS = (
    "Relu Add Conv MatMul Softmax Reshape Transpose Concat Gather Slice Pad Expand Tile Resize "
    "MaxPool AveragePool ReduceSum TopK Where Cast Split Flatten ConvTranspose Range DepthToSpace"
).split()


def mutated_bytes(content: bytes, random: np.random.Generator) -> bytes:
    """Some bytes changed, cut out, doubled or cut off."""
    data = bytearray(content)
    for _ in range(int(random.integers(1, 6))):
        place = int(random.integers(0, max(len(data), 1)))
        match int(random.integers(0, 4)):
            case 0:
                data[place : place + 1] = bytes([int(random.integers(0, 256))])
            case 1:
                del data[place : place + int(random.integers(1, 20))]
            case 2:
                data[place:place] = data[place : place + int(random.integers(1, 20))]
            case _:
                data[place : place + 1] = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
    cut = len(data) if random.random() < 0.9 else int(random.integers(1, len(data)))
    return bytes(data[:cut])


def mutated_model(model: onnx.ModelProto, random: np.random.Generator) -> onnx.ModelProto:
    """One change, or a few, of a graph that stays readable."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    changes = (_change_attribute, _change_weight, _change_dims, _change_edge, _change_operator)
    for _ in range(1 if random.random() < 0.8 else 3):
        changes[int(random.integers(len(changes)))](copy.graph, random)
    return copy


def _pick(items: Sequence[T], random: np.random.Generator) -> T:
    return items[int(random.integers(len(items)))]


def _change_attribute(graph: onnx.GraphProto, random: np.random.Generator) -> None:
    """A number of an attribute becomes extreme, or a list longer or shorter."""
    attributes = [a for node in graph.node for a in node.attribute]
    if not attributes:
        return
    attribute = _pick(attributes, random)
    value = _pick(EXTREMES, random)
    if attribute.ints and random.random() < 0.7:
        attribute.ints[int(random.integers(len(attribute.ints)))] = value
    elif attribute.ints:
        attribute.ints.append(value)
    elif attribute.type == onnx.AttributeProto.INT:
        attribute.i = value
    else:
        attribute.name = "axis"


def _change_weight(graph: onnx.GraphProto, random: np.random.Generator) -> None:
    """A number of a constant shape, axis or index becomes extreme."""
    integers = [t for t in graph.initializer if t.data_type == onnx.TensorProto.INT64]
    if not integers:
        return
    tensor = _pick(integers, random)
    array = numpy_helper.to_array(tensor).copy()
    if array.size:
        array.reshape(-1)[int(random.integers(array.size))] = _pick(EXTREMES, random)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _change_dims(graph: onnx.GraphProto, random: np.random.Generator) -> None:
    """A size of an input becomes extreme."""
    dims = [dim for value in graph.input for dim in value.type.tensor_type.shape.dim]
    if dims:
        _pick(dims, random).dim_value = _pick(EXTREMES, random)


def _change_edge(graph: onnx.GraphProto, random: np.random.Generator) -> None:
    """An input of a node becomes another value, empty, or goes away."""
    nodes = [node for node in graph.node if node.input]
    names = [name for node in graph.node for name in (*node.input, *node.output)]
    if not nodes:
        return
    node = _pick(nodes, random)
    place = int(random.integers(len(node.input)))
    if random.random() < 0.2:
        del node.input[place]
    else:
        node.input[place] = _pick([*names, ""], random)


def _change_operator(graph: onnx.GraphProto, random: np.random.Generator) -> None:
    """A node becomes one of another operator."""
    if graph.node:
        _pick(list(graph.node), random).op_type = _pick(OPERATORS, random)
