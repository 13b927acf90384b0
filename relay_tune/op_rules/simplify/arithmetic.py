"""Arithmetic with neutral elements and with constants."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import (
    attribute,
    constant_data,
    is_float,
    operator_call,
    operator_name,
    rank,
    uniform_value,
)
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import call, constant_of, recall


def drop_neutral(call_: Call) -> Expr | None:
    """x + 0, x - 0, x * 1, x / 1, power(x, 1) are x, and so are 0 + x and 1 * x."""
    neutral = 0.0 if operator_name(call_) in ("add", "subtract") else 1.0
    left, right = call_.arguments
    if uniform_value(right) == neutral and left.type == call_.type:
        return left
    commutes = operator_name(call_) in ("add", "multiply")
    if commutes and uniform_value(left) == neutral and right.type == call_.type:
        return right
    return None


def divide_to_multiply(call_: Call) -> Expr | None:
    """x / c is x * (1 / c) where 1 / c is a normal number, rounded once more; floats only.

    A scalar, such as a scale that a run computes, is divided: that costs nothing and is exact.
    """
    divisor = constant_data(call_.arguments[1])
    if divisor is None or not is_float(call_) or not divisor.all() or rank(call_) == 0:
        return None
    with np.errstate(all="ignore"):
        reciprocal = (1.0 / divisor).astype(divisor.dtype)
    if not np.isfinite(reciprocal).all() or (np.abs(reciprocal) < _smallest(reciprocal)).any():
        return None
    return call("multiply", call_.arguments[0], constant_of(reciprocal))


def subtract_to_add(call_: Call) -> Expr | None:
    """x - c is x + (-c); floats only."""
    subtrahend = constant_data(call_.arguments[1])
    if subtrahend is None or not is_float(call_):
        return None
    return call("add", call_.arguments[0], constant_of(-subtrahend))


def constant_to_the_right(call_: Call) -> Expr | None:
    """c + x is x + c, c * x is x * c: one form for the rules that follow."""
    left, right = call_.arguments
    if constant_data(left) is None or constant_data(right) is not None:
        return None
    return recall(call_, (right, left))


def merge_constants(call_: Call) -> Expr | None:
    """(x + c) + d is x + (c + d), (x * c) * d is x * (c * d); floats only.

    Not where the merged constant overflows, or vanishes.
    """
    inner, outer_constant = call_.arguments
    same = operator_call(inner, operator_name(call_) or "")
    outer = constant_data(outer_constant)
    first = None if same is None else constant_data(same.arguments[1])
    if same is None or outer is None or first is None or not is_float(call_):
        return None
    with np.errstate(all="ignore"):
        joined = first + outer if operator_name(call_) == "add" else first * outer
        vanishes = (np.abs(joined) < _smallest(joined)) & (first != 0) & (outer != 0)
    if joined.size > max(first.size, outer.size) or not np.isfinite(joined).all():
        return None
    if operator_name(call_) == "multiply" and vanishes.any():
        return None
    merged = constant_of(np.asarray(joined, dtype=first.dtype))
    new = recall(call_, (same.arguments[0], merged))
    return new if new.type == call_.type else None


def merge_bias(call_: Call) -> Expr | None:
    """bias_add(x, b) + c is bias_add(x, b + c) if c has one number for each element of b, or one.

    A convolution with bias and a normalisation whose scale went into the weights leave such sums.
    """
    inner = operator_call(call_.arguments[0], "nn.bias_add")
    constant = constant_data(call_.arguments[1])
    bias = None if inner is None else constant_data(inner.arguments[1])
    dims = None if inner is None else rank(inner)
    if inner is None or constant is None or bias is None or dims is None or not is_float(call_):
        return None
    axis = attribute(inner, "axis") % dims
    others = [
        size for index, size in enumerate(constant.shape, dims - constant.ndim) if index != axis
    ]
    if call_.type != inner.type or constant.size > bias.size or any(size != 1 for size in others):
        return None
    with np.errstate(all="ignore"):
        merged = np.asarray(bias + constant.reshape(-1), dtype=bias.dtype)
    if not np.isfinite(merged).all():
        return None
    return recall(inner, (inner.arguments[0], constant_of(merged)))


def power_of_small_exponent(call_: Call) -> Expr | None:
    """power(x, 2) is x * x, power(x, 0.5) is sqrt(x), power(x, -0.5) is rsqrt(x)."""
    base, exponent = call_.arguments
    value = uniform_value(exponent)
    if value is None or base.type != call_.type or not is_float(base):
        return None
    if value == 2.0:
        return call("multiply", base, base)
    return call("rsqrt", base) if value == -0.5 else None


def reciprocal_of_root(call_: Call) -> Expr | None:
    """x / sqrt(y) is x * rsqrt(y)."""
    root = operator_call(call_.arguments[1], "sqrt")
    if root is None or not is_float(call_):
        return None
    return call("multiply", call_.arguments[0], call("rsqrt", root.arguments[0]))


def _smallest(values: np.ndarray) -> float:
    """The smallest normal number of an array's type; what is below counts as zero at run time."""
    return float(ml_dtypes.finfo(values.dtype).smallest_normal)


RULES: RuleTable = {
    "add": (drop_neutral, constant_to_the_right, merge_constants, merge_bias),
    "subtract": (drop_neutral, subtract_to_add),
    "multiply": (drop_neutral, constant_to_the_right, merge_constants),
    "divide": (drop_neutral, divide_to_multiply, reciprocal_of_root),
    "power": (drop_neutral, power_of_small_exponent),
}
