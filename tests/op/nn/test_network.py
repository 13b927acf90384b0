"""A small network of many operators, lowered as one function, against the references."""

from __future__ import annotations

import numpy as np

import relay_tune.op  # noqa: F401  (registers the operators)
from relay_tune.ir.expr import Call, Constant, Expr, Function, Var
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.ir.types import TensorType
from relay_tune.op.lower import lower_function
from relay_tune.tensor.evaluate import evaluate
from relay_tune.typing.infer import infer_expr


def _call(name: str, *arguments: Expr, **attributes) -> Call:
    operator = find_operator(name)
    assert operator is not None
    return operator(*arguments, **attributes)


def _network(data: Expr, random_array) -> Expr:
    """Convolution, depthwise convolution, pools, upsampling, a dense layer, softmax."""

    def weight(*shape: int) -> Constant:
        return Constant(random_array(shape))

    value: Expr = _call("nn.conv2d", data, weight(8, 3, 3, 3), strides=(2, 2), padding=(1, 1))
    value = _call("nn.relu", _call("nn.bias_add", value, weight(8)))
    value = _call("nn.conv2d", value, weight(8, 1, 3, 3), padding=(1, 0, 1, 2), groups=8)
    value = _call("nn.leaky_relu", value, alpha=0.1)
    value = _call("nn.max_pool2d", value, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    value = _call("nn.conv2d_transpose", value, weight(8, 4, 4, 4), strides=(2, 2), padding=(1, 1))
    border = Constant(np.asarray(0.5, "float32"))
    value = _call("nn.pad", value, border, pad_width=((0, 0), (0, 0), (1, 0), (0, 1)))
    value = _call("nn.instance_norm", value, weight(4), weight(4))
    value = _call("nn.avg_pool2d", value, pool_size=(2, 2), strides=(1, 1), padding=(1, 1))
    value = _call("nn.batch_flatten", _call("nn.adaptive_avg_pool2d", value, output_size=(3, 2)))
    return _call("nn.softmax", _call("nn.dense", value, weight(10, 24)))


def _value(expr: Expr, data: Expr, array: np.ndarray) -> np.ndarray:
    """The value of a chain of calls, by the references of the operators."""
    if expr is data:
        return array
    if isinstance(expr, Constant):
        return expr.data
    assert isinstance(expr, Call) and isinstance(expr.callee, Operator)
    arguments = [_value(argument, data, array) for argument in expr.arguments]
    return expr.callee.reference(expr.attributes, *arguments)


def test_a_network_lowers_to_what_the_references_say(random_array):
    data = Var("data", TensorType((2, 3, 13, 10), "float32"))
    body = _network(data, random_array)
    array = random_array((2, 3, 13, 10))
    typed = infer_expr(Function((data,), body))
    assert isinstance(typed, Function)
    program = lower_function(typed)
    feeds = {program.inputs[0]: array, **program.constant_arrays()}
    (found,) = evaluate(program.outputs, feeds)
    np.testing.assert_allclose(found, _value(body, data, array), 1e-3, 1e-5)
