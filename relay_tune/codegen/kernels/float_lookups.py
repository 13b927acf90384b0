"""Short integers to floats by a lookup in a register, where a target has an instruction for it.

    float32(word << 20 >> 28)     the number of four bits that begins at bit 8 of each word
    table[word >> 8]              the same; the instruction reads the low four bits of its index

That takes two instructions a number instead of three.
"""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.machine.architecture import Lookup
from relay_tune.tensor.bit_fields import WORD_BITS, SignedField


def lookup_of(a: Arithmetic, field: SignedField, up: int | None) -> Lookup | None:
    """The instruction for lanes of int32, if the target has one that reads all bits of a field.

    `up` is how far words are shifted to the left, None where that is not known.
    """
    known = a.writer.lookups.get("float32")
    if known is None or up is None or not 0 <= up <= WORD_BITS - field.bits:
        return None
    return known if known.lanes == a.lanes and known.lanes >= 2**field.bits else None


def looked_up(a: Arithmetic, found: Lookup, field: SignedField, word: str, up: int) -> str:
    """The text of the floats of a field of some words; `a` writes int32."""
    down = WORD_BITS - field.bits - up
    index = a.binary("lshr", word, a.number(down)) if down else word
    floats = a.of("float32")
    values = field.values * (found.lanes // len(field.values))
    numbers = ", ".join(f"float {each:e}" for each in values)
    arguments = f"{floats.type} <{numbers}>, {a.type} {index}"
    return a.writer.call(floats.type, found.instruction, arguments, f"{floats.type}, {a.type}")
