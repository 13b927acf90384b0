"""Unary and binary operations and casts of scalar expressions, as LLVM instructions."""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic, Value
from relay_tune.codegen.llvm_types import BYTES, is_float, is_signed, memory_type
from relay_tune.codegen.vector_math.functions import VECTOR_FUNCTIONS, power

FLOAT_INSTRUCTIONS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}

INTEGER_INSTRUCTIONS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
}

FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}

ROUNDING_INTRINSICS = {
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "roundeven",
    "abs": "fabs",
    "sqrt": "sqrt",
}


def unary_operation(arithmetic: Arithmetic, operation: str, x: str) -> str:
    """The text of `operation(x)`; isnan, isinf and not give bools."""
    if is_float(arithmetic.dtype):
        return _float_unary(arithmetic, operation, x)
    return _integer_unary(arithmetic, operation, x)


def _float_unary(a: Arithmetic, operation: str, x: str) -> str:
    if operation in ROUNDING_INTRINSICS:
        return a.intrinsic(ROUNDING_INTRINSICS[operation], x)
    match operation:
        case "neg":
            return a.writer.pure(f"fneg {a.type} {x}")
        case "rsqrt":
            return a.binary("fdiv", a.number(1.0), a.intrinsic("sqrt", x))
        case "sign":
            signed = a.intrinsic("copysign", a.number(1.0), x)
            is_nonzero = a.compare("une", x, a.number(0.0))
            result = a.select(is_nonzero, signed, a.number(0.0))
            return a.select(a.compare("uno", x, x), x, result)
        case "isnan":
            return a.compare("uno", x, x)
        case "isinf":
            return a.compare("oeq", a.intrinsic("fabs", x), a.number(float("inf")))
        case "not":
            return a.compare("oeq", x, a.number(0.0))
    return VECTOR_FUNCTIONS[operation](a, x)


def _integer_unary(a: Arithmetic, operation: str, x: str) -> str:
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


def binary_operation(a: Arithmetic, operation: str, left: str, right: str) -> str:
    """The text of `left operation right`; comparisons give bools."""
    if operation in FLOAT_PREDICATES:
        return a.compare(_predicate(a.dtype, operation), left, right)
    if is_float(a.dtype):
        return _float_binary(a, operation, left, right)
    return _integer_binary(a, operation, left, right)


def _predicate(dtype: str, operation: str) -> str:
    if is_float(dtype):
        return FLOAT_PREDICATES[operation]
    if operation in ("eq", "ne"):
        return operation
    return ("s" if is_signed(dtype) else "u") + operation


def _float_binary(a: Arithmetic, operation: str, left: str, right: str) -> str:
    if operation in FLOAT_INSTRUCTIONS:
        return a.binary(FLOAT_INSTRUCTIONS[operation], left, right)
    match operation:
        case "max" | "min":
            return _float_extremum(a, operation, left, right)
        case "fmax":
            return a.select(a.compare("ogt", right, left), right, left)
        case "pow":
            return power(a, left, right)
        case "floordiv":
            return a.intrinsic("floor", a.binary("fdiv", left, right))
        case "truncdiv":
            return a.intrinsic("trunc", a.binary("fdiv", left, right))
        case "truncmod":
            return a.binary("frem", left, right)
        case "floormod":
            return _floor_remainder(a, left, right)
    raise KeyError(f"no float operation {operation}")


def _float_extremum(a: Arithmetic, operation: str, left: str, right: str) -> str:
    """Maximum or minimum; a NaN on either side is the result, as in numpy.

    `select(right > left, right, left)` is one instruction and keeps a NaN on the left; a literal
    on the left changes places first, and one on the right needs no test of its own. A processor
    with masks tests the right side, which should be the one that is known first, and computes the
    maximum under that mask: two instructions, and no test between steps of a reduction.
    """
    if not left.startswith("%"):
        left, right = right, left
    predicate = "ogt" if operation == "max" else "olt"
    result = a.select(a.compare(predicate, right, left), right, left)
    if not right.startswith("%"):
        return result
    return a.select(a.compare("ord", right, right), result, right)


def _floor_remainder(a: Arithmetic, left: str, right: str) -> str:
    remainder = a.binary("frem", left, right)
    nonzero = a.compare("une", remainder, a.number(0.0))
    product = a.intrinsic("copysign", a.number(1.0), remainder)
    sign = a.intrinsic("copysign", a.number(1.0), right)
    differs = a.compare("une", product, sign)
    bools = a.of("bool")
    wrong = bools.binary("and", nonzero, differs)
    return a.select(wrong, a.binary("fadd", remainder, right), remainder)


def _integer_binary(a: Arithmetic, operation: str, left: str, right: str) -> str:
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


def _truncated(a: Arithmetic, kind: str, left: str, right: str) -> str:
    divisor, is_zero = _divisor(a, left, right)
    result = a.binary(("s" if is_signed(a.dtype) else "u") + kind, left, divisor)
    return result if is_zero is None else a.select(is_zero, a.number(0), result)


def _divisor(a: Arithmetic, left: str, right: str) -> tuple[str, str | None]:
    """The divisor as it is when it is a harmless literal, else guarded."""
    digits = right.removeprefix("splat (").rstrip(")").split(" ")[-1]
    if digits.isdigit() and 0 < int(digits) < (1 << (8 * BYTES[a.dtype] - 1)):
        return right, None
    return _guarded_divisor(a, left, right)


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


def cast_value(a: Arithmetic, value: Value, to: str) -> Value:
    """A value converted to another element type; `a` has the source type."""
    return Value(_cast_text(a, value.text, value.dtype, to), to, value.lanes)


def reinterpret_value(a: Arithmetic, value: Value, to: str) -> Value:
    """The stored bits of a value as another element type of the same width.

    A signalling NaN of 16 bits becomes a quiet one.
    """
    stored = to_memory(a, value.text, value.dtype)
    source, target = memory_type(value.dtype, a.lanes), memory_type(to, a.lanes)
    if source != target:
        stored = a.writer.pure(f"bitcast {source} {stored} to {target}")
    return Value(from_memory(a.of(to), stored, to), to, value.lanes)


def _cast_text(a: Arithmetic, x: str, source: str, to: str) -> str:
    if source == to:
        return x
    if to == "bool":
        return a.compare("une" if is_float(source) else "ne", x, a.number(0))
    if source == "bool":
        one, zero = a.of(to).number(1), a.of(to).number(0)
        return a.of(to).select(x, one, zero)
    if is_float(source) and is_float(to):
        return _float_to_float(a, x, source, to)
    if is_float(source):
        return _float_to_integer(a, x, to)
    if is_float(to):
        converted = a.convert("sitofp" if is_signed(source) else "uitofp", x, to)
        return _round_narrow(a.of(to), converted, to)
    return _resize_integer(a, x, source, to)


def _float_to_float(a: Arithmetic, x: str, source: str, to: str) -> str:
    wide_source, wide_to = source == "float64", to == "float64"
    if wide_source and not wide_to:
        x = a.convert("fptrunc", x, to)
    elif wide_to and not wide_source:
        return a.convert("fpext", x, to)
    return _round_narrow(a.of(to), x, to)


def _round_narrow(a: Arithmetic, x: str, to: str) -> str:
    """A float rounded to the precision of the 16-bit type that it stands for."""
    if to not in ("float16", "bfloat16"):
        return x
    return from_memory(a, to_memory(a, x, to), to)


def _float_to_integer(a: Arithmetic, x: str, to: str) -> str:
    """Truncate toward zero through 64 bits and wrap, as C and numpy do on this machine."""
    wide = "uint64" if to == "uint64" else "int64"
    name = "fptoui" if wide == "uint64" else "fptosi"
    target = a.of(wide)
    result = a.writer.call(
        target.type, f"llvm.{name}.sat.{target.suffix}.{a.suffix}", f"{a.type} {x}", a.type
    )
    return result if BYTES[to] == 8 else target.convert("trunc", result, to)


def _resize_integer(a: Arithmetic, x: str, source: str, to: str) -> str:
    if BYTES[to] == BYTES[source]:
        return x
    if BYTES[to] < BYTES[source]:
        return a.convert("trunc", x, to)
    return a.convert("sext" if is_signed(source) else "zext", x, to)


def to_memory(a: Arithmetic, x: str, dtype: str) -> str:
    """The stored form of a value (bool to byte, float to its 16-bit form)."""
    match dtype:
        case "bool":
            return a.convert("zext", x, "uint8")
        case "float16":
            return a.writer.pure(f"fptrunc {a.type} {x} to {_vector('half', a.lanes)}")
        case "bfloat16":
            return _to_bfloat(a, x)
    return x


def from_memory(a: Arithmetic, x: str, dtype: str) -> str:
    """The value of a stored element; `a` has the value type."""
    match dtype:
        case "bool":
            stored = a.of("uint8")
            return stored.compare("ne", x, stored.number(0))
        case "float16":
            return a.writer.pure(f"fpext {_vector('half', a.lanes)} {x} to {a.type}")
        case "bfloat16":
            bits = a.of("uint16").convert("zext", x, "uint32")
            shifted = a.of("uint32").binary("shl", bits, a.of("uint32").number(16))
            return a.of("uint32").convert("bitcast", shifted, "float32")
    return x


def _to_bfloat(a: Arithmetic, x: str) -> str:
    """Round to nearest even by integer arithmetic; gives the 16 bits. NaN stays NaN."""
    words = a.of("uint32")
    bits = a.convert("bitcast", x, "uint32")
    high = words.binary("lshr", bits, words.number(16))
    even = words.binary("and", high, words.number(1))
    rounded = words.binary("add", bits, words.binary("add", even, words.number(0x7FFF)))
    quiet = words.binary("or", bits, words.number(0x400000))
    chosen = words.select(a.compare("uno", x, x), quiet, rounded)
    return words.convert("trunc", words.binary("lshr", chosen, words.number(16)), "uint16")


def _vector(element: str, lanes: int) -> str:
    return f"<{lanes} x {element}>" if lanes else element
