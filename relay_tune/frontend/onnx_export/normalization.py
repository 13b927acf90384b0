"""Normalisations and softmax to ONNX."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.frontend.onnx_export.call import OperatorCall, OperatorTranslator, Value
from relay_tune.frontend.onnx_export.graph import unsupported
from relay_tune.frontend.onnx_import.types import numpy_dtype


def _channel_vector(call: OperatorCall, value: float, axis: int) -> str:
    """The same number for each position of an axis."""
    vector = np.full(call.shape()[axis], value, numpy_dtype(call.type_of(0).dtype))
    return call.graph.constant(vector, "filled")


def _scale_and_bias(call: OperatorCall, axis: int) -> tuple[str, str]:
    """gamma and beta, or ones and zeros where they do not count."""
    gamma = call.input(1) if call.attributes.scale else _channel_vector(call, 1.0, axis)
    beta = call.input(2) if call.attributes.center else _channel_vector(call, 0.0, axis)
    return gamma, beta


def _batch_norm(call: OperatorCall) -> Value:
    rank = call.rank()
    if rank < 2 or call.attributes.axis % rank != 1:
        raise unsupported(f"axis {call.attributes.axis}; ONNX has the axis 1 only")
    mean, variance = (
        _own_statistics(call) if call.attributes.training else (call.input(3), call.input(4))
    )
    inputs = (call.input(0), *_scale_and_bias(call, 1), mean, variance)
    epsilon, momentum = float(call.attributes.epsilon), float(call.attributes.momentum)
    result = call.node("BatchNormalization", *inputs, epsilon=epsilon, momentum=momentum)
    return result, mean, variance


def _own_statistics(call: OperatorCall) -> tuple[str, str]:
    """The mean and the variance of each channel of the data."""
    data = call.input(0)
    axes = call.graph.integers(0, *range(2, call.rank()))
    kept = call.node("ReduceMean", data, axes, keepdims=1)
    distance = call.node("Sub", data, kept)
    square = call.node("Mul", distance, distance)
    return call.node("Squeeze", kept, axes), call.node("ReduceMean", square, axes, keepdims=0)


def _layer_norm(call: OperatorCall) -> str:
    rank = call.rank()
    if call.attributes.axis % rank != rank - 1:
        raise unsupported(f"axis {call.attributes.axis}; ONNX has the last axis only")
    scale = _scale_and_bias(call, rank - 1)
    epsilon = float(call.attributes.epsilon)
    return call.node("LayerNormalization", call.input(0), *scale, axis=-1, epsilon=epsilon)


def _instance_norm(call: OperatorCall) -> str:
    if call.attributes.axis % call.rank() != 1:
        raise unsupported(f"axis {call.attributes.axis}; ONNX has the axis 1 only")
    scale = _scale_and_bias(call, 1)
    epsilon = float(call.attributes.epsilon)
    return call.node("InstanceNormalization", call.input(0), *scale, epsilon=epsilon)


def _group_norm(call: OperatorCall) -> str:
    """Each group as one long channel, normalised alone; then scaled channel by channel."""
    shape, groups = call.shape(), call.attributes.num_groups
    if call.attributes.axis % len(shape) != 1:
        raise unsupported(f"axis {call.attributes.axis}; ONNX has the axis 1 only")
    dtype = numpy_dtype(call.type_of(0).dtype)
    long = call.node("Reshape", call.input(0), call.graph.integers(shape[0], groups, -1))
    ones = call.graph.constant(np.ones(groups, dtype), "filled")
    zeros = call.graph.constant(np.zeros(groups, dtype), "filled")
    epsilon = float(call.attributes.epsilon)
    normal = call.node("InstanceNormalization", long, ones, zeros, epsilon=epsilon)
    value = call.node("Reshape", normal, call.graph.integers(*shape))
    along = call.graph.integers(-1, *(1 for _ in shape[2:]))
    if call.attributes.scale:
        value = call.node("Mul", value, call.node("Reshape", call.input(1), along))
    if call.attributes.center:
        value = call.node("Add", value, call.node("Reshape", call.input(2), along))
    return value


def _lrn(call: OperatorCall) -> str:
    attributes = call.attributes
    if attributes.axis % call.rank() != 1:
        raise unsupported(f"axis {attributes.axis}; ONNX has the axis 1 only")
    return call.node(
        "LRN",
        call.input(0),
        size=attributes.size,
        alpha=float(attributes.alpha),
        beta=float(attributes.beta),
        bias=float(attributes.bias),
    )


def _l2_normalize(call: OperatorCall) -> str:
    given = call.attributes.axis
    axes = range(call.rank()) if given is None else (given,) if isinstance(given, int) else given
    square = call.node("ReduceSumSquare", call.input(0), call.graph.integers(*axes), keepdims=1)
    least = call.node("Max", square, call.like(call.attributes.eps))
    return call.node("Div", call.input(0), call.node("Sqrt", least))


def _softmax(call: OperatorCall) -> str:
    operator = "LogSoftmax" if call.operator == "nn.log_softmax" else "Softmax"
    return call.node(operator, call.input(0), axis=call.attributes.axis)


NORMALIZATIONS: Mapping[str, OperatorTranslator] = {
    "nn.batch_norm": _batch_norm,
    "nn.layer_norm": _layer_norm,
    "nn.instance_norm": _instance_norm,
    "nn.group_norm": _group_norm,
    "nn.lrn": _lrn,
    "nn.l2_normalize": _l2_normalize,
    "nn.softmax": _softmax,
    "nn.fast_softmax": _softmax,
    "nn.log_softmax": _softmax,
}
