"""2^x in float32, without branches, tables or calls.

The tables come from `benchmarks/fit_vector_math.py`.
"""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.vector_math.exp import BIASED_ROUNDER, HIGHEST_EXPONENT, power_of_two

LOWEST_EXP2 = -127.0
"""2^x of this and everything below is 0 where powers are made of bits."""

EXP2 = (
    0.00018058953,
    0.0013314332,
    0.009607519,
    0.055505678,
    0.24022758,
    0.6931471,
    1.0,
)
EXP2_ABOVE = (
    0.0018669525,
    0.009017481,
    0.055799514,
    0.2401646,
    0.6931513,
    1.0,
)
"""For rests of rounding down."""

SCALED_LANES = (4, 8, 16)
DOWN_QUIETLY = 9
"""The rest of rounding toward minus infinity, without the exception of being inexact."""

IN_CURRENT_MODE = 4
"""The rounding of an instruction on 512 bits that leaves the processor's mode as it is."""


def exp2(a: Arithmetic, x: str) -> str:
    """2^x = 2^n 2^f with n = round(x), at most 127: above, f grows and overflows to inf.

    Results below 2^-126.5 become 0, save where there are instructions for splitting and scaling.
    """
    if a.writer.scales_powers and a.lanes in SCALED_LANES:
        return _scaled(a, a.polynomial(_rest(a, x), *EXP2_ABOVE), x)
    x = a.at_least(x, LOWEST_EXP2)
    biased = a.binary("fadd", x, a.number(BIASED_ROUNDER))
    biased = a.at_most(biased, BIASED_ROUNDER + HIGHEST_EXPONENT)
    rest = a.binary("fsub", x, a.binary("fsub", biased, a.number(BIASED_ROUNDER)))
    return a.binary("fmul", a.polynomial(rest, *EXP2), power_of_two(a, biased))


def _rest(a: Arithmetic, x: str) -> str:
    """x - floor(x), and 0 for infinities: `vreduceps` of AVX-512."""
    return _masked(a, "reduce", f"{a.type} {x}, i32 {DOWN_QUIETLY}", f"{a.type}, i32")


def _scaled(a: Arithmetic, x: str, power: str) -> str:
    """x * 2^floor(power): `vscalefps` of AVX-512."""
    return _masked(a, "scalef", f"{a.type} {x}, {a.type} {power}", f"{a.type}, {a.type}")


def _masked(a: Arithmetic, name: str, arguments: str, types: str) -> str:
    """An instruction of AVX-512 on all lanes."""
    mask = f"i{max(a.lanes, 8)}"
    arguments += f", {a.type} zeroinitializer, {mask} -1"
    types += f", {a.type}, {mask}"
    if a.lanes == max(SCALED_LANES):
        arguments, types = f"{arguments}, i32 {IN_CURRENT_MODE}", f"{types}, i32"
    bits = 32 * a.lanes
    return a.writer.call(a.type, f"llvm.x86.avx512.mask.{name}.ps.{bits}", arguments, types)
