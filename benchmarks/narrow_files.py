"""ONNX files whose matrices of weights are stored in few bits, or as bfloat16.

    file = with_narrow_weights(file, "int4")       every MatMul with weights becomes a MatMulNBits

Numbers and scales are those of `rt.quantize`; zero points lie in the middle. bfloat16 is a Cast in
front of the product.
"""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from relay_tune.op.block_numbers import block_numbers

BITS = {"int8": 8, "int4": 4}
BLOCK = 32
LEAST_NUMBERS = 1 << 12

Array = npt.NDArray[np.generic]


def with_narrow_weights(content: bytes, stored: str, accuracy_level: int = 0) -> bytes:
    """A file with its matrices stored as float32, bfloat16, int8 or int4.

    `accuracy_level` is that of MatMulNBits: 4 lets a system round data to 8 bits.
    """
    if stored == "float32":
        return content
    model = onnx.load_from_string(content)
    graph = model.graph
    weights = {each.name: each for each in graph.initializer}
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        weight = weights.get(node.input[1]) if node.op_type == "MatMul" else None
        if (
            weight is None
            or len(weight.dims) != 2
            or weight.dims[0] * weight.dims[1] < LEAST_NUMBERS
        ):
            nodes.append(node)
            continue
        matrix = numpy_helper.to_array(weight)
        product = _cast_product if stored == "bfloat16" else _block_product
        for made in product(graph, node, matrix, stored, accuracy_level):
            nodes.append(made)
    del graph.node[:]
    graph.node.extend(nodes)
    read = {name for node in nodes for name in node.input}
    kept = [each for each in graph.initializer if each.name in read]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    if stored != "bfloat16":
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return bytes(model.SerializeToString())


def _cast_product(
    graph: onnx.GraphProto, node: onnx.NodeProto, matrix: Array, stored: str, level: int
) -> Iterator[onnx.NodeProto]:
    """The product with bfloat16 weights."""
    del level
    name = f"{node.input[1]}_{stored}"
    _add(graph, numpy_helper.from_array(matrix.astype(ml_dtypes.bfloat16), name))
    wide = f"{node.output[0]}_weights"
    yield helper.make_node("Cast", [name], [wide], to=onnx.TensorProto.FLOAT)
    yield helper.make_node("MatMul", [node.input[0], wide], list(node.output), name=node.name)


def _block_product(
    graph: onnx.GraphProto, node: onnx.NodeProto, matrix: Array, stored: str, level: int
) -> Iterator[onnx.NodeProto]:
    """The product with numbers of few bits."""
    bits, (size, count) = BITS[stored], matrix.shape
    blocks = -(-size // BLOCK)
    found = block_numbers(np.ascontiguousarray(matrix.T), bits, BLOCK)
    assert found is not None
    numbers, scales, _ = found
    if numbers.dtype == np.int8:
        numbers = (numbers.astype(np.int16) + 128).astype(np.uint8)
    packed = numbers.reshape(count, blocks, -1)
    name = f"{node.input[1]}_{stored}"
    _add(graph, numpy_helper.from_array(packed, name))
    _add(graph, numpy_helper.from_array(scales.astype(np.float32).reshape(-1), f"{name}_scales"))
    yield helper.make_node(
        "MatMulNBits",
        [node.input[0], name, f"{name}_scales"],
        list(node.output),
        name=node.name,
        domain="com.microsoft",
        K=size, N=count, bits=bits, block_size=BLOCK, accuracy_level=level,
    )  # fmt: skip


def _add(graph: onnx.GraphProto, value: onnx.TensorProto) -> None:
    if all(each.name != value.name for each in graph.initializer):
        graph.initializer.append(value)
