"""Words that are put together in registers.

    a = a0 a1 a2 ..    b = b0 b1 b2 ..    word(a, b, c, d) = a0 b0 c0 d0  a1 b1 c1 d1  ..

Of vectors that is one order of the elements of all of them, for which targets have instructions
that permute bytes or interleave them; a scalar is shifted.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.kernels.transposing import shuffled
from relay_tune.codegen.llvm_types import BYTES, memory_type

BYTE_BITS = 8


def put_together(a: Arithmetic, parts: Sequence[str]) -> str:
    """The text of words; `a` is the arithmetic of their narrow elements."""
    return _interleaved(a, parts) if a.lanes else _shifted(a, parts)


def _interleaved(a: Arithmetic, parts: Sequence[str]) -> str:
    element, lanes, joined = memory_type(a.dtype), a.lanes, list(parts)
    while len(joined) > 1:
        pairs = zip(joined[::2], joined[1::2], strict=True)
        is_last = len(joined) == 2
        order = _word_order(a.lanes, len(parts)) if is_last else range(2 * lanes)
        joined = [shuffled(a.writer, element, lanes, pair, order) for pair in pairs]
        lanes *= 2
    return a.writer.pure(f"bitcast <{lanes} x {element}> {joined[0]} to <{a.lanes} x i32>")


def _word_order(lanes: int, group: int) -> list[int]:
    """Where the elements of words stand in vectors that follow each other."""
    return [part * lanes + lane for lane in range(lanes) for part in range(group)]


def _shifted(a: Arithmetic, parts: Sequence[str]) -> str:
    whole, total = a.of("int32"), None
    for number, part in enumerate(parts):
        text = a.convert("zext", part, "int32")
        if number:
            shift = whole.number(number * BYTE_BITS * BYTES[a.dtype])
            text = whole.binary("shl", text, shift)
        total = text if total is None else whole.binary("or", total, text)
    assert total is not None
    return total
