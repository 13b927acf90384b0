"""Lengths that reshapes of an ONNX graph write out, as exporters do that trace an example.

    x: float32 (batch, length, 32)        Reshape(x, [7, 4, 8])      traced with 7 steps: 8, 7, 4

Such a file runs for the length of its example only, whatever it declares.
"""

from __future__ import annotations

from contextlib import suppress

from onnx import GraphProto, TensorProto

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.tensor import tensor_array
from relay_tune.ir.reached import reached

MOST_LENGTHS = 4
"""Lengths of one graph; it is imported for each in search of one that works."""

MOST_AXES = 8
"""A vector of more numbers is no shape."""


def written_lengths(graph: GraphProto) -> tuple[int, ...]:
    """Numbers in the shapes of reshapes, each once, the largest first."""
    numbers = _constants(graph)
    parts = {
        name: tuple(node.input)
        for node in graph.node
        if node.op_type in ("Concat", "Unsqueeze")
        for name in node.output
    }
    shapes = [
        name
        for node in graph.node
        if node.op_type in ("Reshape", "Expand")
        for name in node.input[1:2]
    ]
    names = reached(shapes, lambda name: parts.get(name, ()))
    found = {number for name in names for number in numbers.get(name, ())}
    lengths = sorted((number for number in found if number > 1), reverse=True)
    return tuple(lengths[:MOST_LENGTHS])


def _constants(graph: GraphProto) -> dict[str, tuple[int, ...]]:
    """The small integer constants by name; damaged ones are refused elsewhere."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.output:
            tensors[node.output[0]] = node.attribute[0].t
    found = {}
    for name, tensor in tensors.items():
        is_shape = len(tensor.dims) <= 1 and all(size <= MOST_AXES for size in tensor.dims)
        is_here = tensor.data_location != TensorProto.EXTERNAL
        if is_shape and is_here and tensor.data_type == TensorProto.INT64:
            with suppress(ModelError):
                found[name] = tuple(map(int, tensor_array(tensor, None, name).reshape(-1)))
    return found
