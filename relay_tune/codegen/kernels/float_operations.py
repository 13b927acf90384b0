"""Operations on floats as LLVM instructions; comparisons of two values are in `operations`."""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.llvm_types import is_nan_text
from relay_tune.codegen.vector_math.functions import VECTOR_FUNCTIONS, power

FLOAT_INSTRUCTIONS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}

ROUNDING_INTRINSICS = {
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "roundeven",
    "abs": "fabs",
    "sqrt": "sqrt",
}


def float_unary(a: Arithmetic, operation: str, x: str) -> str:
    """The text of `operation(x)` on floats; isnan, isinf and not give bools."""
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


def float_binary(a: Arithmetic, operation: str, left: str, right: str) -> str:
    """The text of `left operation right` on floats, for all but comparisons."""
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
    if is_nan_text(right):
        return right
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
