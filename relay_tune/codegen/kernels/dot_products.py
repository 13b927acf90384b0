"""Dot products of words as LLVM instructions: those of the target, or shifts and products.

A target has instructions for some widths of vectors. Narrower operands are widened, the lanes of
wider ones are halved.
"""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.kernels.vector_pieces import joined, picked
from relay_tune.codegen.llvm_types import is_float, is_signed, value_type
from relay_tune.machine.architecture import DotProduct
from relay_tune.machine.pattern import WORD_BITS, WORD_PATTERNS, WordPattern

_PATTERNS = {each.name: each for each in WORD_PATTERNS}


def dot_product(
    a: Arithmetic, operation: str, left: str, right: str, addend: str | None = None
) -> str:
    """The text of `operation(left, right)` on words, added to `addend` if there is one.

    Of `a` the lanes count.
    """
    pattern = _PATTERNS[operation]
    words, sums = a.of("int32"), a.of(pattern.result)
    usable = [each for each in a.writer.dot_products if each.pattern == pattern]
    if not usable:
        return _by_elements(words, sums, pattern, left, right, addend)
    widths = {each.lanes: each for each in reversed(usable)}
    width = min((n for n in widths if n >= a.lanes), default=max(widths))
    if width < a.lanes:
        return _in_halves(words, sums, operation, left, right, addend)
    x, y = (_widened(words, text, width) for text in (left, right))
    total = None if addend is None else _widened(sums, addend, width)
    known, wide = widths[width], sums.at_lanes(width)
    return _narrowed(sums, _instruction(wide, known, x, y, total), width)


def _instruction(
    a: Arithmetic, known: DotProduct, left: str, right: str, addend: str | None
) -> str:
    factor, total, words = known.factor_type, known.sum_type, a.of("int32")
    arguments = []
    for text in (left, right):
        cast = a.writer.pure(f"bitcast {words.type} {text} to {factor}")
        arguments.append(f"{factor} {cast}")
    types = [factor, factor]
    if known.accumulates:
        arguments.insert(0, f"{total} {a.number(0) if addend is None else addend}")
        types.insert(0, total)
    if known.pair_sums:
        half = f"<{2 * known.lanes} x i16>"
        sums = a.writer.call(half, known.pair_sums, ", ".join(arguments), ", ".join(types))
        ones = ", ".join(2 * known.lanes * ["i16 1"])
        arguments, types = [f"{half} {sums}", f"{half} <{ones}>"], [half, half]
    found = a.writer.call(total, known.instruction, ", ".join(arguments), ", ".join(types))
    if known.accumulates or addend is None:
        return found
    added = a.binary("add", addend, found)
    return a.writer.pure(f"call {total} {known.fixed}({total} {added})") if known.fixed else added


def _by_elements(
    words: Arithmetic,
    sums: Arithmetic,
    pattern: WordPattern,
    left: str,
    right: str,
    addend: str | None,
) -> str:
    """Each element shifted to its position, multiplied and added, as any machine can."""
    total = addend
    for number in reversed(range(pattern.group)):
        x, y = (
            _element(words, text, number, pattern.bits, dtype)
            for text, dtype in ((left, pattern.left), (right, pattern.right))
        )
        total = _multiplied(sums, x, y, total)
    assert total is not None
    return total


def _multiplied(a: Arithmetic, left: str, right: str, addend: str | None) -> str:
    """A product, added to what there is."""
    if is_float(a.dtype):
        return a.multiply_add(left, right, a.number(0) if addend is None else addend)
    found = a.binary("mul", left, right)
    return found if addend is None else a.binary("add", addend, found)


def _element(a: Arithmetic, word: str, number: int, bits: int, dtype: str) -> str:
    """An element of a word, as one of 32 bits; of a bfloat16 these begin with its own."""
    above = WORD_BITS - bits * (number + 1)
    shifted = a.binary("shl", word, a.number(above)) if above else word
    if is_float(dtype):
        first = a.number(-1 << (WORD_BITS - bits))
        return a.convert("bitcast", a.binary("and", shifted, first), "float32")
    extend = "ashr" if is_signed(dtype) else "lshr"
    return a.binary(extend, shifted, a.number(WORD_BITS - bits))


def _in_halves(
    words: Arithmetic, sums: Arithmetic, operation: str, left: str, right: str, addend: str | None
) -> str:
    half = words.lanes // 2
    narrow = sums.at_lanes(half)
    found = []
    for first in (0, half):
        numbers = range(first, first + half)
        x, y = (picked(words, text, numbers) for text in (left, right))
        total = None if addend is None else picked(sums, addend, numbers)
        found.append(dot_product(narrow, operation, x, y, total))
    return joined(narrow, found)


def _widened(a: Arithmetic, text: str, width: int) -> str:
    """A scalar or a vector as the first lanes of a wider one."""
    if a.lanes == width:
        return text
    if not a.lanes:
        wide = value_type(a.dtype, width)
        return a.writer.pure(f"insertelement {wide} poison, {a.type} {text}, i64 0")
    return picked(a, text, [min(n, a.lanes - 1) for n in range(width)])


def _narrowed(a: Arithmetic, text: str, width: int) -> str:
    if a.lanes == width:
        return text
    if not a.lanes:
        wide = value_type(a.dtype, width)
        return a.writer.pure(f"extractelement {wide} {text}, i64 0")
    return picked(a.at_lanes(width), text, range(a.lanes))
