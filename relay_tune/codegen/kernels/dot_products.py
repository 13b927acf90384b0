"""Dot products of words as LLVM instructions: those of the target, or shifts and products.

A target has instructions for some widths of vectors. Narrower operands are widened, the lanes of
wider ones are halved.
"""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.llvm_types import is_signed, value_type
from relay_tune.machine.architecture import DotProduct
from relay_tune.machine.pattern import WORD_BITS, WORD_PATTERNS, WordPattern

_PATTERNS = {each.name: each for each in WORD_PATTERNS}


def dot_product(
    a: Arithmetic, operation: str, left: str, right: str, addend: str | None = None
) -> str:
    """The text of `operation(left, right)` on words, added to `addend` if there is one."""
    pattern = _PATTERNS[operation]
    usable = [each for each in a.writer.dot_products if each.pattern == pattern]
    if not usable:
        return _added(a, _by_elements(a, pattern, left, right), addend)
    widths = {each.lanes: each for each in reversed(usable)}
    width = min((n for n in widths if n >= a.lanes), default=max(widths))
    if width < a.lanes:
        return _in_halves(a, operation, left, right, addend)
    wide = a.at_lanes(width)
    x, y = (_widened(a, text, width) for text in (left, right))
    total = None if addend is None else _widened(a, addend, width)
    return _narrowed(a, _instruction(wide, widths[width], x, y, total), width)


def _instruction(
    a: Arithmetic, known: DotProduct, left: str, right: str, addend: str | None
) -> str:
    factor, total = known.factor_type, known.sum_type
    arguments = []
    for text in (left, right):
        cast = a.writer.pure(f"bitcast {total} {text} to {factor}")
        arguments.append(f"{factor} {cast}")
    types = [factor, factor]
    if known.accumulates:
        arguments.insert(0, f"{total} {a.number(0) if addend is None else addend}")
        types.insert(0, total)
    found = a.writer.call(total, known.instruction, ", ".join(arguments), ", ".join(types))
    if known.accumulates or addend is None:
        return found
    added = a.binary("add", addend, found)
    return a.writer.pure(f"call {total} {known.fixed}({total} {added})") if known.fixed else added


def _added(a: Arithmetic, total: str, addend: str | None) -> str:
    return total if addend is None else a.binary("add", addend, total)


def _by_elements(a: Arithmetic, pattern: WordPattern, left: str, right: str) -> str:
    """Each element shifted to its place, multiplied and added, as any machine can."""
    total: str | None = None
    for number in range(pattern.group):
        parts = [
            _element(a, text, number, pattern.bits, signed=is_signed(dtype))
            for text, dtype in ((left, pattern.left), (right, pattern.right))
        ]
        total = _added(a, a.binary("mul", *parts), total)
    assert total is not None
    return total


def _element(a: Arithmetic, word: str, number: int, bits: int, *, signed: bool) -> str:
    """An element of a word, extended to 32 bits."""
    above = WORD_BITS - bits * (number + 1)
    shifted = a.binary("shl", word, a.number(above)) if above else word
    return a.binary("ashr" if signed else "lshr", shifted, a.number(WORD_BITS - bits))


def _in_halves(a: Arithmetic, operation: str, left: str, right: str, addend: str | None) -> str:
    half = a.lanes // 2
    narrow = a.at_lanes(half)
    found = []
    for first in (0, half):
        numbers = range(first, first + half)
        parts = [
            None if text is None else _picked(a, text, a.lanes, numbers)
            for text in (left, right, addend)
        ]
        assert parts[0] is not None and parts[1] is not None
        found.append(dot_product(narrow, operation, parts[0], parts[1], parts[2]))
    order = ", ".join(f"i32 {n}" for n in range(a.lanes))
    pair = ", ".join(f"{narrow.type} {text}" for text in found)
    return a.writer.pure(f"shufflevector {pair}, <{a.lanes} x i32> <{order}>")


def _widened(a: Arithmetic, text: str, width: int) -> str:
    """A scalar or a vector as the first lanes of a wider one."""
    if a.lanes == width:
        return text
    if not a.lanes:
        wide = value_type(a.dtype, width)
        return a.writer.pure(f"insertelement {wide} poison, {a.type} {text}, i64 0")
    return _picked(a, text, a.lanes, [min(n, a.lanes - 1) for n in range(width)])


def _narrowed(a: Arithmetic, text: str, width: int) -> str:
    if a.lanes == width:
        return text
    if not a.lanes:
        wide = value_type(a.dtype, width)
        return a.writer.pure(f"extractelement {wide} {text}, i64 0")
    return _picked(a.at_lanes(width), text, width, range(a.lanes))


def _picked(a: Arithmetic, text: str, lanes: int, numbers: range | list[int]) -> str:
    """The lanes with these numbers."""
    order = ", ".join(f"i32 {n}" for n in numbers)
    return a.writer.pure(
        f"shufflevector {a.type} {text}, {a.type} poison, <{len(numbers)} x i32> <{order}>"
    )
