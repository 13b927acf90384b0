"""Element by element: functions, arithmetic, comparisons, choices, casts, to ONNX."""

from __future__ import annotations

import math
from collections.abc import Mapping

from relay_tune.frontend.onnx_export.call import OperatorCall, OperatorTranslator, require_float
from relay_tune.frontend.onnx_export.graph import unsupported

_SAME_MEANING = {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "bitwise_and": "BitwiseAnd",
    "bitwise_not": "BitwiseNot",
    "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor",
    "ceil": "Ceil",
    "copy": "Identity",
    "cos": "Cos",
    "cosh": "Cosh",
    "decisive": "Identity",
    "divide": "Div",
    "equal": "Equal",
    "erf": "Erf",
    "exp": "Exp",
    "fast_erf": "Erf",
    "fast_exp": "Exp",
    "fast_tanh": "Tanh",
    "floor": "Floor",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "isinf": "IsInf",
    "isnan": "IsNaN",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "log": "Log",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "add": "Add",
    "maximum": "Max",
    "minimum": "Min",
    "multiply": "Mul",
    "negative": "Neg",
    "nn.relu": "Relu",
    "power": "Pow",
    "round": "Round",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "sqrt": "Sqrt",
    "subtract": "Sub",
    "tan": "Tan",
    "tanh": "Tanh",
}


def _same(call: OperatorCall) -> str:
    """An operator that ONNX has under another name."""
    inputs = (call.input(index) for index in range(len(call.arguments)))
    return call.node(_SAME_MEANING[call.operator], *inputs)


def _logical_not(call: OperatorCall) -> str:
    return call.node("Not", call.cast(call.input(0), "bool"))


def _not_equal(call: OperatorCall) -> str:
    return call.node("Not", call.node("Equal", call.input(0), call.input(1)))


def _dropout(call: OperatorCall) -> str:
    if not call.attributes.training:
        return call.node("Identity", call.input(0))
    rate, training = call.like(call.attributes.rate), call.like(True, "bool")
    return call.node("Dropout", call.input(0), rate, training, seed=call.attributes.seed)


def _rsqrt(call: OperatorCall) -> str:
    return call.node("Reciprocal", call.node("Sqrt", call.input(0)))


def _logarithm(call: OperatorCall) -> str:
    base = {"log2": 2, "log10": 10}[call.operator]
    return call.node("Mul", call.node("Log", call.input(0)), call.like(1 / math.log(base)))


def _trunc(call: OperatorCall) -> str:
    if "float" not in call.type_of(0).dtype:
        return call.node("Identity", call.input(0))
    magnitude = call.node("Floor", call.node("Abs", call.input(0)))
    return call.node("Mul", magnitude, call.node("Sign", call.input(0)))


def _floor_divide(call: OperatorCall) -> str:
    """ONNX cuts quotients of integers: one too many where the remainders of both ways differ."""
    dividend, divisor, dtype = call.input(0), call.input(1), call.type_of(0).dtype
    quotient = call.node("Div", dividend, divisor)
    if "float" in dtype:
        return call.node("Floor", quotient)
    if dtype.startswith("u"):
        return quotient
    remainders = (call.node("Mod", dividend, divisor, fmod=cut) for cut in (0, 1))
    differ = call.node("Not", call.node("Equal", *remainders))
    return call.node("Sub", quotient, call.cast(differ, dtype))


def _remainder(call: OperatorCall) -> str:
    """The remainder with the sign of the dividend; or, of integers, that of the divisor."""
    truncated = call.operator in ("mod", "trunc_mod")
    if not truncated and "float" in call.type_of(0).dtype:
        raise unsupported("floats, for which ONNX has the remainder of trunc_mod only")
    return call.node("Mod", call.input(0), call.input(1), fmod=int(truncated))


def _where(call: OperatorCall) -> str:
    condition = call.input(0)
    if call.type_of(0).dtype != "bool":
        condition = call.cast(condition, "bool")
    return call.node("Where", condition, call.input(1), call.input(2))


def _clip(call: OperatorCall) -> str:
    require_float(call)
    low, high = call.attributes.a_min, call.attributes.a_max
    return call.node("Clip", call.input(0), call.like(low), call.like(high))


def _cast(call: OperatorCall) -> str:
    return call.cast(call.input(0), call.result_type.dtype)


def _gelu(call: OperatorCall) -> str:
    """0.5 x (1 + erf(x / sqrt 2)), the form that is known everywhere."""
    if call.attributes.approximate == "tanh":
        return _tanh_gelu(call)
    scaled = call.node("Mul", call.input(0), call.like(math.sqrt(0.5)))
    bend = call.node("Add", call.node("Erf", scaled), call.like(1.0))
    return call.node("Mul", call.node("Mul", call.input(0), bend), call.like(0.5))


def _tanh_gelu(call: OperatorCall) -> str:
    data = call.input(0)
    cube = call.node("Mul", call.node("Mul", data, data), data)
    inner = call.node("Add", data, call.node("Mul", cube, call.like(0.044715)))
    bend = call.node("Tanh", call.node("Mul", inner, call.like(math.sqrt(2 / math.pi))))
    half = call.node("Mul", data, call.like(0.5))
    return call.node("Mul", half, call.node("Add", bend, call.like(1.0)))


def _leaky_relu(call: OperatorCall) -> str:
    require_float(call)
    return call.node("LeakyRelu", call.input(0), alpha=float(call.attributes.alpha))


def _prelu(call: OperatorCall) -> str:
    rank = call.rank()
    shape = [1] * rank
    shape[call.attributes.axis % rank] = -1
    slope = call.node("Reshape", call.input(1), call.graph.integers(*shape))
    return call.node("PRelu", call.input(0), slope)


ELEMENTWISE: Mapping[str, OperatorTranslator] = {
    **dict.fromkeys(_SAME_MEANING, _same),
    "cast": _cast,
    "cast_like": _cast,
    "clip": _clip,
    "floor_divide": _floor_divide,
    "floor_mod": _remainder,
    "log10": _logarithm,
    "log2": _logarithm,
    "logical_not": _logical_not,
    "mod": _remainder,
    "nn.gelu": _gelu,
    "nn.leaky_relu": _leaky_relu,
    "nn.prelu": _prelu,
    "not_equal": _not_equal,
    "nn.dropout": _dropout,
    "rsqrt": _rsqrt,
    "trunc": _trunc,
    "trunc_mod": _remainder,
    "where": _where,
}
