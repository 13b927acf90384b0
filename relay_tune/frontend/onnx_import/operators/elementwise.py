"""Element-by-element arithmetic, comparison, logic and casts of ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, checked_axis, dtype_of, rank_of, shape_of
from relay_tune.frontend.onnx_import.narrow_types import number_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.narrow import cast_element_type, checked_rounding
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.wide import OneOutput, in_wide
from relay_tune.frontend.onnx_import.types import (
    dtype_name,
    element_type,
    integer_range,
    is_float,
    is_integer,
    numpy_dtype,
)
from relay_tune.ir.expr import Expr

_UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "BitwiseNot": "bitwise_not",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "IsNaN": "isnan",
    "Log": "log",
    "Neg": "negative",
    "Not": "logical_not",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}

_BINARY = {
    "Add": "add",
    "And": "logical_and",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "Mul": "multiply",
    "Or": "logical_or",
    "Sub": "subtract",
    "Xor": "logical_xor",
}


def _unary(name: str) -> Translator:
    return lambda node, build: build.call(name, node.input(0))


def _binary(name: str) -> Translator:
    return lambda node, build: build.call(name, *_operands(node, build))


def _operands(node: OnnxNode, build: Builder) -> tuple[Expr, Expr]:
    """Both inputs; before version 7 the second could be aligned with an inner axis."""
    left, right = node.input(0), node.input(1)
    if node.opset >= 7 or not node.flag("broadcast", 0) or rank_of(right) == 0:
        return left, right
    axis = node.integer("axis", rank_of(left) - rank_of(right))
    behind = rank_of(left) - checked_axis(axis, max(rank_of(left), 1)) - rank_of(right)
    if behind <= 0:
        return left, right
    return left, build.call("expand_dims", right, axis=rank_of(right), num_newaxis=behind)


def _variadic(name: str) -> OneOutput:
    def translate(node: OnnxNode, build: Builder) -> Expr:
        return reduce(lambda left, right: build.call(name, left, right), node.all_inputs())

    return translate


def translate_identity(node: OnnxNode, build: Builder) -> Expr:
    """The input itself."""
    return node.input(0)


def translate_div(node: OnnxNode, build: Builder) -> Expr:
    """Division; that of integers is rounded towards zero."""
    left, right = _operands(node, build)
    name = "trunc_divide" if is_integer(dtype_of(left)) else "divide"
    return build.call(name, left, right)


def translate_mod(node: OnnxNode, build: Builder) -> Expr:
    """The remainder: with the sign of the divisor, or of the dividend if `fmod` is set."""
    left, right = node.input(0), node.input(1)
    name = "trunc_mod" if node.flag("fmod", 0) else "floor_mod"
    return build.call(name, left, right)


def translate_pow(node: OnnxNode, build: Builder) -> Expr:
    """Power; the result has the type of the base."""
    base, exponent = _operands(node, build)
    dtype = dtype_of(base)
    if dtype_of(exponent) == dtype:
        return build.call("power", base, exponent)
    if is_integer(dtype) and is_float(dtype_of(exponent)):
        wide = build.call("cast", base, dtype=dtype_of(exponent))
        return build.call("cast", build.call("power", wide, exponent), dtype=dtype)
    return build.call("power", base, build.call("cast", exponent, dtype=dtype))


def translate_reciprocal(node: OnnxNode, build: Builder) -> Expr:
    """1 / x."""
    return build.call("divide", build.like(1, node.input(0)), node.input(0))


def translate_mean(node: OnnxNode, build: Builder) -> Expr:
    """The mean of several tensors."""
    inputs = node.all_inputs()
    total = reduce(lambda left, right: build.call("add", left, right), inputs)
    return build.call("divide", total, build.like(len(inputs), total))


def translate_is_inf(node: OnnxNode, build: Builder) -> Expr:
    """Whether elements are infinite, of the signs that are asked for."""
    data = node.input(0)
    found = build.call("isinf", data)
    zero = build.like(0, data)
    if not node.flag("detect_positive", 1):
        found = build.call("logical_and", found, build.call("less", data, zero))
    if not node.flag("detect_negative", 1):
        found = build.call("logical_and", found, build.call("greater", data, zero))
    return found


def translate_bit_shift(node: OnnxNode, build: Builder) -> Expr:
    """Shift of integers; by the width of the type or more, nothing but the sign is left."""
    data, amount = node.input(0), node.input(1)
    direction = node.text("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise ModelError(f"attribute direction must be LEFT or RIGHT, not {direction!r}.")
    bits = numpy_dtype(dtype_of(data)).itemsize * 8
    safe = build.call("minimum", amount, build.like(bits - 1, amount))
    if direction == "RIGHT" and integer_range(dtype_of(data))[0] < 0:
        return build.call("right_shift", data, safe)
    name = "left_shift" if direction == "LEFT" else "right_shift"
    small = build.call("less", amount, build.like(bits, amount))
    return build.call("where", small, build.call(name, data, safe), build.like(0, data))


def translate_where(node: OnnxNode, build: Builder) -> Expr:
    """Elements of one tensor or another."""
    return build.call("where", node.input(0), node.input(1), node.input(2))


def translate_clip(node: OnnxNode, build: Builder) -> Expr:
    """Limit elements to a range; the limits are attributes before version 11."""
    data = node.input(0)
    if node.opset < 11:
        low: Expr | None = build.like(node.number("min"), data) if node.has("min") else None
        high: Expr | None = build.like(node.number("max"), data) if node.has("max") else None
    else:
        low, high = node.optional(1), node.optional(2)
    if low is not None:
        data = build.call("maximum", data, _scalar(build, low))
    return data if high is None else build.call("minimum", data, _scalar(build, high))


def _scalar(build: Builder, limit: Expr) -> Expr:
    """A limit as a scalar: some exporters write vectors of one element."""
    return build.settled(build.call("reshape", limit, newshape=()) if shape_of(limit) else limit)


def cast_to(build: Builder, data: Expr, dtype: str) -> Expr:
    """`data` of another element type."""
    return data if dtype_of(data) == dtype else build.call("cast", data, dtype=dtype)


def translate_cast(node: OnnxNode, build: Builder) -> Expr:
    """Conversion to the element type of attribute `to`."""
    saturate = node.flag("saturate", 1)
    mode = checked_rounding(node)
    return cast_element_type(build, node.input(0), node.integer("to"), saturate, mode)


def translate_cast_like(node: OnnxNode, build: Builder) -> Expr:
    """Conversion to the element type of the second input."""
    saturate, mode = node.flag("saturate", 1), checked_rounding(node)
    kind = build.narrow.get(node.input(1))
    to = element_type(dtype_of(node.input(1))) if kind is None else number_of(kind)
    return cast_element_type(build, node.input(0), to, saturate, mode)


def translate_bit_cast(node: OnnxNode, build: Builder) -> Expr:
    """The same bits, read as another type of the same width."""
    return build.call(
        "reinterpret", node.input(0), dtype=dtype_name(node.integer("to"), "the result")
    )


ELEMENTWISE: Mapping[str, Translator] = {
    **{onnx: _unary(relay) for onnx, relay in _UNARY.items()},
    **{onnx: _binary(relay) for onnx, relay in _BINARY.items()},
    "Sum": in_wide(_variadic("add")),
    "Max": _variadic("maximum"),
    "Min": _variadic("minimum"),
    "Mean": in_wide(translate_mean),
    "Identity": translate_identity,
    "Div": translate_div,
    "Mod": translate_mod,
    "Pow": translate_pow,
    "Reciprocal": translate_reciprocal,
    "IsInf": translate_is_inf,
    "BitShift": translate_bit_shift,
    "Where": translate_where,
    "Clip": translate_clip,
    "Cast": translate_cast,
    "CastLike": translate_cast_like,
    "BitCast": translate_bit_cast,
}
