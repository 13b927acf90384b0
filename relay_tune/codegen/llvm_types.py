"""How element types look in LLVM: in memory, and as values in registers.

A bool is a byte in memory and an i1 as a value; float16 and bfloat16 are stored narrow and
computed as float.
"""

from __future__ import annotations

import math
import re
import struct
from functools import cache

MEMORY_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "half",
    "bfloat16": "i16",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "i8",
    "uint16": "i16",
    "uint32": "i32",
    "uint64": "i64",
    "bool": "i8",
}

VALUE_TYPES = {**MEMORY_TYPES, "float16": "float", "bfloat16": "float", "bool": "i1"}

BYTES = {
    "float32": 4,
    "float64": 8,
    "float16": 2,
    "bfloat16": 2,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "bool": 1,
}

_INTRINSIC_NAMES = {"float": "f32", "double": "f64", "half": "f16"}


def is_float(dtype: str) -> bool:
    """Whether values of this dtype are floating-point."""
    return dtype in ("float32", "float64", "float16", "bfloat16")


def is_signed(dtype: str) -> bool:
    """Whether integers of this dtype have a sign."""
    return dtype.startswith("int")


@cache
def value_type(dtype: str, lanes: int = 0) -> str:
    """The LLVM type of a value; `lanes` 0 is a scalar."""
    element = VALUE_TYPES[dtype]
    return f"<{lanes} x {element}>" if lanes else element


@cache
def memory_type(dtype: str, lanes: int = 0) -> str:
    """The LLVM type of stored elements; `lanes` 0 is a scalar."""
    element = MEMORY_TYPES[dtype]
    return f"<{lanes} x {element}>" if lanes else element


@cache
def intrinsic_suffix(element: str, lanes: int = 0) -> str:
    """How the names of intrinsics write an LLVM element type, or lanes of it, such as v8f32."""
    name = _INTRINSIC_NAMES.get(element, element)
    return f"v{lanes}{name}" if lanes else name


def literal_text(value: bool | int | float, dtype: str, lanes: int = 0) -> str:
    """A number as an LLVM constant of the value type (without the type)."""
    element = _scalar_text(value, dtype)
    return f"splat ({VALUE_TYPES[dtype]} {element})" if lanes else element


def is_nan_text(text: str) -> bool:
    """Whether the text of a float value is that of a constant that is NaN."""
    digits = re.search("0x([0-9A-F]{16})", text)
    return digits is not None and math.isnan(struct.unpack(">d", bytes.fromhex(digits[1]))[0])


def _scalar_text(value: bool | int | float, dtype: str) -> str:
    if dtype == "bool":
        return "true" if value else "false"
    if is_float(dtype):
        number = float(value)
        if dtype != "float64" and math.isfinite(number):
            number = _round_to_float32(number)
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    bits = 8 * BYTES[dtype]
    wrapped = int(value) & ((1 << bits) - 1)
    return str(wrapped)


def _round_to_float32(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)
