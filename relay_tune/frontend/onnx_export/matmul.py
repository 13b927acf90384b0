"""Matrix products and biases to ONNX."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.frontend.onnx_export.call import OperatorCall, OperatorTranslator
from relay_tune.frontend.onnx_export.graph import GraphWriter


def _operand(call: OperatorCall, place: int) -> str:
    """An argument in the element type of the result."""
    name, dtype = call.input(place), call.result_type.dtype
    return name if call.type_of(place).dtype == dtype else call.cast(name, dtype)


def _transposed(graph: GraphWriter, name: str, rank: int) -> str:
    """The last two axes swapped; a weight is swapped here and now."""
    value = graph.value_of(name)
    if value is not None:
        return graph.constant(np.swapaxes(value, -1, -2), f"{name}_transposed")
    return graph.node("Transpose", name, perm=(*range(rank - 2), rank - 1, rank - 2))


def _product(call: OperatorCall, transpose_a: bool, transpose_b: bool) -> str:
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
    may_join = value is not None and axis == 1 and call.owns_input
    if may_join and producer is not None and producer.op_type in ("Conv", "ConvTranspose"):
        producer.input.append(bias)
        return data
    shape = [1] * (rank - axis)
    shape[0] = -1
    if value is not None:
        return call.node("Add", data, call.graph.constant(value.reshape(shape), "bias"))
    if axis < rank - 1:
        bias = call.node("Reshape", bias, call.graph.integers(*shape))
    return call.node("Add", data, bias)


MATMULS: Mapping[str, OperatorTranslator] = {
    "nn.dense": _dense,
    "nn.matmul": _matmul,
    "nn.batch_matmul": _matmul,
    "nn.bias_add": _bias_add,
}
