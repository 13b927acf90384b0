"""The meaning of the scalar operations, on numpy arrays of any element type.

This is the definition that code generation is tested against. Integers wrap around; integer
division and remainder by zero give zero; NaN wins in `min` and `max`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.pattern import WORD_PATTERNS, WordPattern

Array = np.ndarray[Any, Any]


NARROW_FLOATS = ("bfloat16", "float16")
"""Floats that vectors convert to float32 before they compute with them."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy element type called `name`."""
    return DTYPES[name]


def is_float(dtype: str) -> bool:
    """Whether an element type is a floating-point one."""
    return "float" in dtype


def convert(value: Array, dtype: str) -> Array:
    """The array converted to `dtype`: floats to integers truncate, anything to bool is != 0."""
    with np.errstate(all="ignore"):
        return converted(value, dtype)


def converted(value: Array, dtype: str) -> Array:
    """The same where the caller says what numpy does about errors, as for the two below."""
    return value != 0 if dtype == "bool" else value.astype(numpy_dtype(dtype))


def reinterpret_bits(value: Array, dtype: str) -> Array:
    """The bits of an array read as elements of another type of the same width."""
    return np.ascontiguousarray(value).view(numpy_dtype(dtype)).reshape(np.shape(value))


def word_of(elements: Sequence[Array]) -> Array:
    """The words of int32 that arrays of narrow integers are together, the first one lowest."""
    joined = np.stack(np.broadcast_arrays(*elements), axis=-1)
    return np.ascontiguousarray(joined).view("<i4")[..., 0]


def apply_unary(operation: str, operand: Array) -> Array:
    """One of UNARY_OPERATIONS, elementwise; the dtype of the operand, bool for predicates."""
    with np.errstate(all="ignore"):
        return unary_value(operation, operand)


def unary_value(operation: str, operand: Array) -> Array:
    """As `apply_unary`."""
    result = np.asarray(_UNARY[operation](operand))
    return result if result.dtype.kind == "b" else result.astype(operand.dtype, copy=False)


def apply_binary(operation: str, left: Array, right: Array) -> Array:
    """One of BINARY_OPERATIONS, elementwise with broadcasting, on arrays of one dtype.

    One of DOT_PRODUCTS is of words of int32.
    """
    with np.errstate(all="ignore"):
        return binary_value(operation, left, right)


def binary_value(operation: str, left: Array, right: Array) -> Array:
    """As `apply_binary`."""
    return np.asarray(_BINARY[operation](left, right))


def apply_reduction(operation: str, values: Array, axes: tuple[int, ...]) -> Array:
    """One of REDUCTIONS over `axes`, in the dtype of `values`; empty axes give the identity."""
    function = _REDUCTIONS[operation]
    initial = reduction_identity(operation, values.dtype)
    with np.errstate(all="ignore"):
        return np.asarray(function.reduce(values, axis=axes, dtype=values.dtype, initial=initial))


def reduction_identity(operation: str, dtype: np.dtype[Any]) -> Any:
    """The value that a reduction over nothing has."""
    match operation:
        case "sum" | "prod":
            return dtype.type(operation == "prod")
        case _ if dtype.kind == "b":
            return operation == "min"
        case _ if is_float(dtype.name):
            return dtype.type(math.inf if operation == "min" else -math.inf)
        case _:
            limits = np.iinfo(dtype)
            return limits.max if operation == "min" else limits.min


def _dot_product(pattern: WordPattern, left: Array, right: Array) -> Array:
    """The products of the narrow elements of words, summed in the type of the sum."""
    total = np.zeros(np.broadcast_shapes(np.shape(left), np.shape(right)), pattern.result)
    for number in reversed(range(pattern.group)):
        factors = (
            _element(word, number, pattern.bits, dtype).astype(pattern.result)
            for word, dtype in ((left, pattern.left), (right, pattern.right))
        )
        total += np.multiply(*factors)
    return total


def _element(word: Array, number: int, bits: int, dtype: str) -> Array:
    """An element of words, the first in their lowest bits."""
    stored: Array = (np.asarray(word) >> (bits * number)).astype(f"uint{bits}")
    return stored.view(DTYPES[dtype])


def erf(operand: Array) -> Array:
    """The error function, elementwise; float64 inside."""
    values = np.asarray(operand)
    return np.asarray(_erf(values.astype(np.float64))).astype(values.dtype)


_erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(operand: Array) -> Array:
    """1 / (1 + exp(-x)), elementwise, in the dtype of the operand."""
    one = operand.dtype.type(1)
    return np.asarray(one / (one + np.exp(-operand)))


def rsqrt(operand: Array) -> Array:
    """1 / sqrt(x), elementwise, in the dtype of the operand."""
    return np.asarray(operand.dtype.type(1) / np.sqrt(operand))


def truncated_quotient(left: Array, right: Array) -> Array:
    """left / right rounded towards zero; integers divided by zero give zero."""
    if is_float(np.asarray(left).dtype.name):
        return np.asarray(np.trunc(left / right))
    quotient, remainder = np.floor_divide(left, right), np.mod(left, right)
    opposite = (remainder != 0) & ((left < 0) != (right < 0))
    return np.asarray(quotient + opposite.astype(quotient.dtype))


def floored_quotient(left: Array, right: Array) -> Array:
    """left / right rounded down; integers divided by zero give zero."""
    if is_float(np.asarray(left).dtype.name):
        return np.asarray(np.floor(left / right))
    return np.asarray(np.floor_divide(left, right))


def floored_remainder(left: Array, right: Array) -> Array:
    """The remainder that has the sign of the divisor; integers modulo zero give zero."""
    return np.asarray(np.mod(left, right))


def integer_power(base: Array, exponent: Array) -> Array:
    """base ** exponent of integers with wraparound; a negative exponent truncates the fraction."""
    base, exponent = np.broadcast_arrays(base, exponent)
    negative = exponent < 0
    powers = np.power(base, np.where(negative, exponent.dtype.type(0), exponent))
    minus_one = np.where(exponent % 2 == 0, 1, -1).astype(base.dtype)
    fractions = np.where(base == 1, 1, np.where(base == -1, minus_one, 0)).astype(base.dtype)
    return np.where(negative, fractions, powers)


def power(base: Array, exponent: Array) -> Array:
    """base ** exponent."""
    if is_float(np.asarray(base).dtype.name):
        return np.asarray(np.power(base, exponent))
    return integer_power(base, exponent)


_UNARY: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": rsqrt,
    "tanh": np.tanh,
    "erf": erf,
    "sigmoid": sigmoid,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "sign": np.sign,
    "not": np.logical_not,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "exp2": np.exp2,
    "log2": np.log2,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "bitnot": np.bitwise_not,
}

_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "floordiv": floored_quotient,
    "floormod": floored_remainder,
    "truncdiv": truncated_quotient,
    "truncmod": np.fmod,
    "min": np.minimum,
    "max": np.maximum,
    "fmax": lambda left, right: np.where(right > left, right, left),
    "pow": power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}

_BINARY |= {each.name: partial(_dot_product, each) for each in WORD_PATTERNS}

_REDUCTIONS: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "fmax": np.fmax,
    "min": np.minimum,
}
