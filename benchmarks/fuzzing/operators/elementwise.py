"""Operators on single elements: arithmetic, functions, comparisons, bits, casts, quantization."""

from __future__ import annotations

import numpy as np

from benchmarks.fuzzing.builder import Value
from benchmarks.fuzzing.operators.growing import (
    CODES,
    FLOATS,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    Growing,
    Step,
)

SMOOTH = (
    "Sigmoid Tanh Sin Cos Atan Sinh Cosh Asinh Erf Exp Elu Selu Celu HardSigmoid HardSwish Mish "
    "Softplus Softsign Gelu Swish LeakyRelu"
).split()
"""Functions of all floats that do not jump."""

WITHIN_ONE = ("Acos", "Asin", "Atanh")
POSITIVE = ("Sqrt", "Log", "Reciprocal", "Acosh")
ROUNDING = ("Ceil", "Floor", "Round", "Sign", "IsNaN", "ThresholdedRelu", "Shrink")
"""Functions that jump, for exact values only."""


def function(net: Growing) -> Value:
    """A smooth function."""
    name = net.pick(SMOOTH)
    return net.add(name, net.some(FLOATS))


def bounded(net: Growing) -> Value:
    """A function of numbers below 1."""
    x = net.some(FLOATS)
    return net.add(
        net.pick(WITHIN_ONE), net.add("Mul", net.add("Sin", x), net.like((), x.dtype, 7))
    )


def positive(net: Growing) -> Value:
    """A function of numbers above 1."""
    x = net.some(FLOATS)
    one = net.exact_constant(np.ones((), net.numbers((), x.dtype).dtype))
    return net.add(net.pick(POSITIVE), net.add("Add", net.add("Abs", x), one))


def jumping(net: Growing) -> Value:
    """A function that rounds or compares."""
    return net.add(net.pick(ROUNDING), net.some(FLOATS, exact=True))


def sign(net: Growing) -> Value:
    """What numbers of all types have."""
    name = net.pick(["Abs", "Neg", "Identity", "Relu"])
    return net.add(name, net.some(NUMBERS if name in ("Abs", "Identity") else (*FLOATS, *SIGNED)))


def arithmetic(net: Growing) -> Value:
    """Two operands."""
    x = net.some(NUMBERS)
    return net.add(net.pick(["Add", "Sub", "Mul", "Max", "Min"]), x, net.partner(x))


def variadic(net: Growing) -> Value:
    """Several operands."""
    x = net.some(FLOATS)
    others = [net.partner(x) for _ in range(net.integer(0, 3))]
    return net.add(net.pick(["Sum", "Mean", "Max", "Min"]), x, *others)


def quotient(net: Growing) -> Value:
    """Division, remainder or power by a constant that is not zero."""
    x = net.some(NUMBERS)
    if x.dtype in FLOATS:
        divisor = net.like((), x.dtype, 20)
        if net.chance(0.3):
            two = net.exact_constant(np.array(2).astype(net.numbers((), x.dtype).dtype))
            return net.add("Pow", x, two)
        return net.add("Div", x, net.add("Add", net.add("Abs", x), net.add("Exp", divisor)))
    number = net.pick([1, 2, 7] if x.dtype in UNSIGNED else [-3, -1, 2, 7])
    divisor = net.exact_constant(np.array(number).astype(x.dtype))
    name = net.pick(["Div", "Mod", "Mod"])
    return net.add(name, x, divisor, **({"fmod": net.integer(0, 1)} if name == "Mod" else {}))


def comparison(net: Growing) -> Value:
    """A truth value."""
    x = net.some(NUMBERS, exact=True)
    limit = net.like((), x.dtype)
    name = net.pick(["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
    return net.add(name, x, limit)


def logic(net: Growing) -> Value:
    """Truth values of truth values."""
    x = net.some(("bool",))
    if net.chance(0.3):
        return net.add("Not", x)
    return net.add(net.pick(["And", "Or", "Xor"]), x, net.partner(x))


def bits(net: Growing) -> Value:
    """Bits of integers."""
    x = net.some((*UNSIGNED, *SIGNED))
    name = net.pick(["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift"])
    if name == "BitwiseNot":
        return net.add(name, x)
    if name != "BitShift":
        return net.add(name, x, net.partner(x))
    x = net.some(UNSIGNED)
    amount = net.exact_constant(np.array(net.integer(0, 7)).astype(x.dtype))
    return net.add(name, x, amount, direction=net.pick(["LEFT", "RIGHT"]))


def choice(net: Growing) -> Value:
    """One of two values."""
    x = net.some((*NUMBERS, "bool"))
    condition = net.fresh("bool", [n if net.chance(0.7) else 1 for n in x.shape])
    return net.add("Where", condition, x, net.partner(x))


def clip(net: Growing) -> Value:
    """Two bounds, either of which may be absent."""
    x = net.some(NUMBERS)
    low, high = (net.like((), x.dtype) for _ in range(2))
    return net.add("Clip", x, low if net.chance(0.7) else None, high if net.chance(0.7) else None)


def cast(net: Growing) -> Value | None:
    """Another element type."""
    x = net.some((*NUMBERS, "bool"), exact=True)
    wanted = net.pick(list(CODES))
    if wanted in UNSIGNED and x.dtype not in (*UNSIGNED, "bool"):
        x = net.add("Abs", x)
    if x.dtype in FLOATS and wanted not in FLOATS and net.special:
        return None  # what NaN is as an integer is not defined
    if x.dtype in FLOATS and wanted not in FLOATS:
        x = net.add("Clip", x, net.like((), x.dtype, 3), None)
    if net.chance(0.2):
        return net.add("CastLike", x, net.like((1,), wanted))
    return net.add("Cast", x, to=CODES[wanted])


def infinite(net: Growing) -> Value:
    """Whether elements are infinite."""
    x = net.some(("float32", "float64"), exact=True)
    return net.add("IsInf", x, detect_negative=net.integer(0, 1))


def slope(net: Growing) -> Value:
    """PRelu, whose slope broadcasts one way."""
    x = net.some(FLOATS[:3])
    return net.add("PRelu", x, net.like([n if net.chance(0.5) else 1 for n in x.shape], x.dtype))


def dropout(net: Growing) -> Value:
    """Nothing, at inference."""
    return net.add("Dropout", net.some(FLOATS))


def quantized(net: Growing) -> Value:
    """To 8 bits and back."""
    x = net.some(("float32",), exact=True)
    scale = net.constant(np.array(net.pick([0.125, 0.25, 0.5]), np.float32))
    dtype = net.pick(["int8", "uint8"])
    zero = net.exact_constant(np.array(net.integer(0, 9), dtype))
    q = net.add("QuantizeLinear", x, scale, zero)
    q = Value(q.name, q.shape, q.dtype, x.exact)
    return net.add("DequantizeLinear", q, scale, zero) if net.chance(0.6) else q


def dynamic_quantized(net: Growing) -> list[Value]:
    """To 8 bits by the range of the data."""
    x = net.finite("float32", net.shape(1, 3))
    return net.add_many("DynamicQuantizeLinear", 3, x)[1:2]


STEPS: tuple[Step, ...] = (
    *(function, function, function, bounded, positive, jumping, sign, sign, arithmetic),
    *(arithmetic, variadic, quotient, comparison, logic, bits, choice, clip, cast, cast),
    *(infinite, slope, dropout, quantized, dynamic_quantized),
)
