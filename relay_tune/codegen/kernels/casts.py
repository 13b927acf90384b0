"""Casts and reinterpretations of values as LLVM instructions."""

from __future__ import annotations

from math import inf

from relay_tune.codegen.arithmetic import Arithmetic, Value
from relay_tune.codegen.kernels.stored_values import from_memory, to_memory
from relay_tune.codegen.llvm_types import BYTES, is_float, is_signed, memory_type

FITS_INT32 = (-(2.0**31), 2.0**31 - 129)
"""Limits that fit int32 even where float32 rounds them."""


def cast_value(
    a: Arithmetic, value: Value, to: str, limits: tuple[float, float] = (-inf, inf)
) -> Value:
    """A value converted to another element type; `a` has the source type.

    A float is between `limits`, or NaN.
    """
    is_short = not is_float(to) and to != "bool" and BYTES[to] <= 4
    fits = FITS_INT32[0] <= limits[0] and limits[1] <= FITS_INT32[1]
    if value.dtype in ("float32", "float64") and is_short and fits:
        return Value(_limited_to_integer(a, value.text, to), to, value.lanes)
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


def _limited_to_integer(a: Arithmetic, x: str, to: str) -> str:
    """The same through 32 bits, for numbers that fit them; NaN becomes 0, as it does in 64 bits."""
    zero = a.number(0)
    number = a.select(a.compare("oeq", x, x), x, zero)
    integer = a.convert("fptosi", number, "int32")
    return _resize_integer(a.of("int32"), integer, "int32", to)


def _resize_integer(a: Arithmetic, x: str, source: str, to: str) -> str:
    if BYTES[to] == BYTES[source]:
        return x
    if BYTES[to] < BYTES[source]:
        return a.convert("trunc", x, to)
    return a.convert("sext" if is_signed(source) else "zext", x, to)
