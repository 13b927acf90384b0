"""Operations on integers and bools as LLVM instructions that never trap.

Division by zero gives zero. The lowest number divided by -1 wraps.
"""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.llvm_types import BYTES, is_signed

INTEGER_INSTRUCTIONS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
}


def integer_unary(a: Arithmetic, operation: str, x: str) -> str:
    """The text of `operation(x)` on integers and bools; isnan, isinf and not give bools."""
    match operation:
        case "not":
            return a.compare("eq", x, a.number(0))
        case "neg":
            return a.binary("sub", a.number(0), x)
        case "bitnot":
            return a.binary("xor", x, a.number(True if a.dtype == "bool" else -1))
        case "abs" if is_signed(a.dtype):
            return a.select(a.compare("slt", x, a.number(0)), a.binary("sub", a.number(0), x), x)
        case "sign" if is_signed(a.dtype):
            negative = a.select(a.compare("slt", x, a.number(0)), a.number(-1), a.number(0))
            return a.select(a.compare("sgt", x, a.number(0)), a.number(1), negative)
        case "sign":
            return a.select(a.compare("ne", x, a.number(0)), a.number(1), a.number(0))
        case "isnan" | "isinf":
            return a.of("bool").number(False)
        case "abs" | "floor" | "ceil" | "round" | "trunc":
            return x
    raise KeyError(f"no integer operation {operation}")


def integer_binary(a: Arithmetic, operation: str, left: str, right: str) -> str:
    """The text of `left operation right` on integers and bools, for all but comparisons."""
    if operation in INTEGER_INSTRUCTIONS:
        return a.binary(INTEGER_INSTRUCTIONS[operation], left, right)
    signed = is_signed(a.dtype)
    match operation:
        case "max" | "fmax" | "min":
            predicate = ("s" if signed else "u") + ("lt" if operation == "min" else "gt")
            return a.select(a.compare(predicate, left, right), left, right)
        case "shl":
            return _shift(a, "shl", left, right)
        case "shr":
            return _shift(a, "ashr" if signed else "lshr", left, right)
        case "pow":
            return _integer_power(a, left, right)
        case "div" | "truncdiv":
            return _truncated(a, "div", left, right)
        case "truncmod":
            return _truncated(a, "rem", left, right)
        case "floordiv":
            return _floored(a, left, right, quotient=True)
        case "floormod":
            return _floored(a, left, right, quotient=False)
    raise KeyError(f"no integer operation {operation}")


def _shift(a: Arithmetic, instruction: str, left: str, right: str) -> str:
    """A shift; by the width or more gives zero (or the sign)."""
    bits = 8 * BYTES[a.dtype]
    too_far = a.compare("uge", right, a.number(bits))
    amount = a.select(too_far, a.number(bits - 1 if instruction == "ashr" else 0), right)
    shifted = a.binary(instruction, left, amount)
    return shifted if instruction == "ashr" else a.select(too_far, a.number(0), shifted)


def _integer_power(a: Arithmetic, left: str, right: str) -> str:
    """Square and multiply over all exponent bits; negative exponents give 0 (or +-1)."""
    result, base = a.number(1), left
    bits = min(8 * BYTES[a.dtype], 63) if is_signed(a.dtype) else 8 * BYTES[a.dtype]
    for bit in range(bits - (1 if is_signed(a.dtype) and bits < 63 else 0)):
        shifted = a.binary("lshr", right, a.number(bit))
        odd = a.compare("ne", a.binary("and", shifted, a.number(1)), a.number(0))
        result = a.select(odd, a.binary("mul", result, base), result)
        base = a.binary("mul", base, base)
    if not is_signed(a.dtype):
        return result
    ones = (a.compare("eq", left, a.number(1)), a.compare("eq", left, a.number(-1)))
    fraction = a.select(a.of("bool").binary("or", *ones), result, a.number(0))
    return a.select(a.compare("slt", right, a.number(0)), fraction, result)


def _truncated(a: Arithmetic, kind: str, left: str, right: str) -> str:
    divisor, is_zero = _divisor(a, left, right)
    result = a.binary(("s" if is_signed(a.dtype) else "u") + kind, left, divisor)
    return result if is_zero is None else a.select(is_zero, a.number(0), result)


def _floored(a: Arithmetic, left: str, right: str, *, quotient: bool) -> str:
    if not is_signed(a.dtype):
        return _truncated(a, "div" if quotient else "rem", left, right)
    divisor, is_zero = _divisor(a, left, right)
    remainder = a.binary("srem", left, divisor)
    differs = a.compare("slt", a.binary("xor", remainder, divisor), a.number(0))
    nonzero = a.compare("ne", remainder, a.number(0))
    adjust = a.of("bool").binary("and", nonzero, differs)
    if quotient:
        plain = a.binary("sdiv", left, divisor)
        result = a.select(adjust, a.binary("sub", plain, a.number(1)), plain)
    else:
        result = a.select(adjust, a.binary("add", remainder, divisor), remainder)
    return result if is_zero is None else a.select(is_zero, a.number(0), result)


def _divisor(a: Arithmetic, left: str, right: str) -> tuple[str, str | None]:
    """The divisor as it is when it is a harmless literal, else guarded."""
    digits = right.removeprefix("splat (").rstrip(")").split(" ")[-1]
    if digits.isdigit() and 0 < int(digits) < (1 << (8 * BYTES[a.dtype] - 1)):
        return right, None
    return _guarded_divisor(a, left, right)


def _guarded_divisor(a: Arithmetic, left: str, right: str) -> tuple[str, str]:
    """A divisor that cannot trap, and whether the true one is zero.

    The lowest number divided by -1 overflows and traps as well; the divisor becomes 1, which gives
    the wrapped quotient and a zero remainder.
    """
    is_zero = a.compare("eq", right, a.number(0))
    unsafe = is_zero
    if is_signed(a.dtype):
        lowest = a.compare("eq", left, a.number(-(1 << (8 * BYTES[a.dtype] - 1))))
        minus_one = a.compare("eq", right, a.number(-1))
        bools = a.of("bool")
        unsafe = bools.binary("or", is_zero, bools.binary("and", lowest, minus_one))
    return a.select(unsafe, a.number(1), right), is_zero
