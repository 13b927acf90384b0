"""Values in registers and their form in memory: bools are bytes, 16-bit floats are rounded."""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.llvm_types import memory_type


def to_memory(a: Arithmetic, x: str, dtype: str) -> str:
    """The stored form of a value (bool to byte, float to its 16-bit form)."""
    match dtype:
        case "bool":
            return a.convert("zext", x, "uint8")
        case "float16":
            return a.writer.pure(f"fptrunc {a.type} {x} to {memory_type('float16', a.lanes)}")
        case "bfloat16":
            return _to_bfloat(a, x)
    return x


def from_memory(a: Arithmetic, x: str, dtype: str) -> str:
    """The value of a stored element; `a` has the value type.

    Where vectors are rounded to bfloat16 by an instruction, LLVM sees in this form that one which
    is rounded again is what was stored.
    """
    match dtype:
        case "bool":
            stored = a.of("uint8")
            return stored.compare("ne", x, stored.number(0))
        case "float16":
            return a.writer.pure(f"fpext {memory_type('float16', a.lanes)} {x} to {a.type}")
        case "bfloat16" if a.writer.rounds_bfloats and a.lanes > 1:
            narrow = a.writer.pure(f"bitcast <{a.lanes} x i16> {x} to <{a.lanes} x bfloat>")
            return a.writer.pure(f"fpext <{a.lanes} x bfloat> {narrow} to {a.type}")
        case "bfloat16":
            bits = a.of("uint16").convert("zext", x, "uint32")
            shifted = a.of("uint32").binary("shl", bits, a.of("uint32").number(16))
            return a.of("uint32").convert("bitcast", shifted, "float32")
    return x


def _to_bfloat(a: Arithmetic, x: str) -> str:
    """Round to nearest even; gives the 16 bits. NaN stays NaN.

    By integer arithmetic, unless the machine has an instruction for it.
    """
    if a.writer.rounds_bfloats and a.lanes > 1:
        narrow = a.writer.pure(f"fptrunc {a.type} {x} to <{a.lanes} x bfloat>")
        return a.writer.pure(f"bitcast <{a.lanes} x bfloat> {narrow} to <{a.lanes} x i16>")
    words = a.of("uint32")
    bits = a.convert("bitcast", x, "uint32")
    high = words.binary("lshr", bits, words.number(16))
    even = words.binary("and", high, words.number(1))
    rounded = words.binary("add", bits, words.binary("add", even, words.number(0x7FFF)))
    quiet = words.binary("or", bits, words.number(0x400000))
    chosen = words.select(a.compare("uno", x, x), quiet, rounded)
    return words.convert("trunc", words.binary("lshr", chosen, words.number(16)), "uint16")
