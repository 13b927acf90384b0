"""Matrix products and biases to ONNX."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import NodeProto

from relay_tune.frontend.onnx_export.block_weights import block_product
from relay_tune.frontend.onnx_export.call import OperatorCall, OperatorTranslator
from relay_tune.frontend.onnx_export.graph import GraphWriter


def _operand(call: OperatorCall, index: int) -> str:
    """An argument in the element type of the result."""
    name, dtype = call.input(index), call.result_type.dtype
    return name if call.type_of(index).dtype == dtype else call.cast(name, dtype)


def _transposed(graph: GraphWriter, name: str, rank: int) -> str:
    """The last two axes swapped; a weight is swapped here and now, once."""
    return graph.once(f"{name} transposed", lambda: _swapped(graph, name, rank))


def _swapped(graph: GraphWriter, name: str, rank: int) -> str:
    value = graph.value_of(name)
    if value is not None:
        return graph.constant(np.swapaxes(value, -1, -2), f"{name}_transposed")
    producer = graph.producer(name)
    if producer is not None and producer.op_type == "DequantizeLinear":
        stored, *parameters = producer.input
        if graph.value_of(stored) is not None:
            axes = {each.name: _transposed_axis(each.i, rank) for each in producer.attribute}
            new = _transposed(graph, stored, rank)
            return graph.node("DequantizeLinear", new, *parameters, **axes)
    return graph.node("Transpose", name, perm=(*range(rank - 2), rank - 1, rank - 2))


def _transposed_axis(axis: int, rank: int) -> int:
    """Where an axis is once the last two are swapped."""
    return 2 * rank - 3 - axis if axis >= rank - 2 else axis


def _product(call: OperatorCall, transpose_a: bool, transpose_b: bool) -> str:
    stored = block_product(call) if transpose_b and not transpose_a else None
    if stored is not None:
        return stored
    left, right = _operand(call, 0), _operand(call, 1)
    if transpose_a:
        left = _transposed(call.graph, left, call.rank(0))
    if transpose_b:
        right = _transposed(call.graph, right, call.rank(1))
    return call.node("MatMul", left, right)


def _dense(call: OperatorCall) -> str:
    return _product(call, False, True)


def _matmul(call: OperatorCall) -> str:
    return _product(call, call.attributes.transpose_a, call.attributes.transpose_b)


def _bias_add(call: OperatorCall) -> str:
    """A sum; the bias of a convolution becomes its third input."""
    rank = call.rank()
    axis = call.attributes.axis % rank
    data, bias = call.input(0), call.input(1)
    producer = call.graph.producer(data)
    value = call.graph.value_of(bias)
    stored = call.graph.producer(bias)
    is_constant = value is not None or (stored is not None and _is_stored_constant(call, stored))
    may_join = is_constant and axis == 1 and call.owns_input
    if may_join and producer is not None and producer.op_type in ("Conv", "ConvTranspose"):
        producer.input.append(bias)
        call.graph.move_to_end(producer)
        return data
    shape = [1] * (rank - axis)
    shape[0] = -1
    if value is not None:
        return call.node("Add", data, call.graph.constant(value.reshape(shape), "bias"))
    if axis < rank - 1:
        bias = call.node("Reshape", bias, call.graph.integers(*shape))
    return call.node("Add", data, bias)


def _is_stored_constant(call: OperatorCall, node: NodeProto) -> bool:
    is_conversion = node.op_type == "DequantizeLinear"
    return is_conversion and call.graph.value_of(node.input[0]) is not None


MATMULS: Mapping[str, OperatorTranslator] = {
    "nn.dense": _dense,
    "nn.matmul": _matmul,
    "nn.batch_matmul": _matmul,
    "nn.bias_add": _bias_add,
}
