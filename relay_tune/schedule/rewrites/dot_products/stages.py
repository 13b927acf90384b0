"""Sums of products of narrow elements by dot products of words, as ordinary stages of a program.

    before:  y[m, o] = sum(k < 7) int32(x[m, k]) * int32(w[o, k])
    after:   xs[m, p] = x[m, p] if p < 7 else 0                             8 elements: 2 words
             ws[o, p] = w[o, p] if p < 7 else 0
             y[m, o] = sum(b < 2) dot_u8s8(words(xs)[m, b], words(ws)[o, b])

Data that are whole words already are read where they are. Words of constants are made when the
program is built. A word is an element of 32 bits like a
float32: tiles, panels, epilogues, blocks and threads of the sums are those of products of floats.
Sums of integers wrap modulo 2^32 as those of int32 do, whatever the order; those of bfloat16 are
float32.

Instructions take bytes of certain signs. With 128 added to signed ones, sum(x * w) is
sum((x + 128) * w) - 128 * sum(w).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relay_tune.machine.pattern import WORD_BITS, WordPattern
from relay_tune.schedule.nests.constant_stages import folded
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.dot_products.elements import SIGN_BITS, part
from relay_tune.schedule.rewrites.dot_products.match import (
    DotProducts,
    Operand,
    expression_of_multiples,
    match_dot_products,
)
from relay_tune.schedule.rewrites.dot_products.neighbours import neighbour_word
from relay_tune.schedule.rewrites.dot_products.windows import (
    Window,
    data_word,
    weight_word,
    window_of,
)
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import (
    Axis,
    Load,
    Reduce,
    Scalar,
    Tensor,
    binary,
    cast,
    literal,
    reduce,
    reinterpret,
    select,
)
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import is_float, numpy_dtype
from relay_tune.tensor.size import nominal
from relay_tune.tensor.tensor import Computed, Input, compute, words_of
from relay_tune.tensor.walk import axes_of, substitute

MOST_SUMS = 64
"""Sums beside each other that one tile has on any processor that wants bytes of certain signs."""


def has_dot_products(program: TensorProgram, pattern: WordPattern, *, rounds: bool = False) -> bool:
    """Whether a program has sums that dot products of a pattern compute.

    With `rounds`, such that elements lose digits in one of them.
    """
    stages = tensors_in_order(program.outputs)
    known = program.bounded
    found = (match_dot_products(each, pattern, rounds=rounds, bounded=known) for each in stages)
    return any(each is not None and each.rounds is rounds for each in found)


def word_program(
    program: TensorProgram, pattern: WordPattern, *, rounds: bool = False
) -> TensorProgram | None:
    """The program with dot products of words in place of its products; None if it has none."""

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        found = match_dot_products(stage, pattern, rounds=rounds, bounded=program.bounded)
        return None if found is None else _in_words(found, pattern, rewriting)

    return with_rewritten_stages(program, rewrite)


def _in_words(found: DotProducts, pattern: WordPattern, rewriting: Rewriting) -> Computed:
    """The sums of a stage, and what makes up for elements of another sign."""
    stage, total = found.stage, found.stage.body
    assert isinstance(total, Reduce)
    window = window_of(found)
    steps = Axis(found.axis.name, found.words)
    left, right = (
        neighbour_word(each, steps, rewriting)
        if each is found.in_rows
        else _moved_word(each, steps)
        if _is_moved_in_registers(found, each, rewriting)
        else _word(each, window, steps, rewriting)
        for each in found.operands
    )
    axes = [steps if axis is found.axis else axis for axis in total.axes]
    body = reduce("sum", axes, binary(pattern.name, left, right))
    sums = Computed(
        name=stage.name, shape=stage.shape, dtype=stage.dtype, axes=stage.axes, body=body
    )
    moved = next((each for each in found.operands if each.offset), None)
    if moved is None:
        return sums
    other = found.right if moved is found.left else found.left
    weights = _summed(other.load, total, stage.axes, rewriting)
    return compute(
        stage.name,
        stage.shape,
        lambda *at: (
            sums[at]
            - substitute(weights, dict(zip(stage.axes, at, strict=True)))
            * literal(moved.offset, "int32")
        ),
    )


def _is_moved_in_registers(found: DotProducts, operand: Operand, rewriting: Rewriting) -> bool:
    """Whether words of another sign are changed where they are multiplied, and not in a copy.

    So are those in memory that one tile of sums reads, once. A copy of them costs as much as it
    saves: it reads and writes each word, where one instruction changes the word for all lanes.
    """
    source, at = operand.load.tensor, operand.dimension
    is_constant = source in rewriting.constants or not _is_given(rewriting.now(source))
    if not operand.offset or is_constant or not operand.is_aligned or at + 1 != source.rank:
        return False
    total = found.stage.body
    assert isinstance(total, Reduce)
    used = axes_of(operand.load)
    points = prod(nominal(axis.extent) for axis in (*found.stage.axes, *total.axes) if axis in used)
    sums = prod(nominal(axis.extent) for axis in found.stage.axes if axis not in used)
    is_read_once = points <= prod(map(nominal, source.shape)) and sums <= MOST_SUMS
    return is_read_once and source.shape[at] % operand.group == 0


def _moved_word(operand: Operand, step: Axis) -> Scalar:
    """The word of an operand at a step, with the first bit of each byte changed."""
    *before, _ = operand.load.indices
    words = words_of(operand.load.tensor, operand.group)
    index = expression_of_multiples(operand.start, operand.group) + step
    return binary("xor", words[(*before, index)], SIGN_BITS)


def _word(operand: Operand, window: Window | None, step: Axis, rewriting: Rewriting) -> Scalar:
    """The word of an operand at a step."""
    if window is not None:
        make = weight_word if operand.is_aligned else data_word
        return make(operand, window, step, rewriting)
    start, at, indices = operand.start, operand.dimension, operand.load.indices
    before, behind = indices[:at], indices[at + 1 :]
    if not operand.is_aligned:
        words = folded(_overlapping(operand, rewriting), rewriting)
        first = expression_of_multiples(start, 1)
        return words[(*before, *behind, first + step * (operand.group * operand.step))]
    index = expression_of_multiples(start, operand.group) + step
    if _is_assembled(operand, rewriting):
        return folded(_assembled(operand, rewriting), rewriting)[(*before, index, *behind)]
    view = words_of(_narrowed(operand, rewriting), operand.group)
    stored = folded(compute(f"{view.name}_words", view.shape, lambda *i: view[i]), rewriting)
    known: Tensor = stored if isinstance(stored, Input) else view
    return known[(*before, *behind, index)]


def _narrowed(operand: Operand, rewriting: Rewriting) -> Tensor:
    """An operand's tensor as elements of its words, in whole words along the last dimension.

    Itself, if it is so and is in memory anyway; else a copy, which ends with zeros.
    """
    source, dimension, group = rewriting.now(operand.load.tensor), operand.dimension, operand.group
    size = source.shape[dimension]
    is_last = dimension + 1 == source.rank
    if is_last and size % group == 0 and source.dtype == operand.dtype and _is_given(source):
        return source
    others = (*source.shape[:dimension], *source.shape[dimension + 1 :])

    def element(*at: Scalar) -> Scalar:
        *outer, inner = at
        value = part(operand, source[(*outer[:dimension], inner, *outer[dimension:])])
        return value if size % group == 0 else select(binary("lt", inner, size), value, 0)

    narrow = compute(f"{source.name}_narrow", (*others, -(-size // group) * group), element)
    return folded(narrow, rewriting)


def _is_given(tensor: Tensor) -> bool:
    return isinstance(tensor, Input)


def _is_assembled(operand: Operand, rewriting: Rewriting) -> bool:
    """Whether words are put together from elements as wide as they, which lie apart.

    Elements that lie side by side, or are narrow, are copied with less work.
    """
    source = rewriting.now(operand.load.tensor)
    bits = 8 * numpy_dtype(source.dtype).itemsize
    return bits == WORD_BITS and operand.dimension + 1 < source.rank


def _assembled(operand: Operand, rewriting: Rewriting) -> Computed:
    """The words of an operand's tensor where their elements are, with zeros behind the end."""
    source, dimension, group = rewriting.now(operand.load.tensor), operand.dimension, operand.group
    count = -(-source.shape[dimension] // group)
    shape = (*source.shape[:dimension], count, *source.shape[dimension + 1 :])

    def word(*at: Scalar) -> Scalar:
        before, step, behind = at[:dimension], at[dimension], at[dimension + 1 :]
        return _word_from(operand, source, before, step * group, behind)

    return compute(f"{source.name}_words", shape, word)


def _overlapping(operand: Operand, rewriting: Rewriting) -> Computed:
    """A word from each element of an operand's tensor on, with zeros behind its end."""
    source, dimension = rewriting.now(operand.load.tensor), operand.dimension
    others = (*source.shape[:dimension], *source.shape[dimension + 1 :])

    def word(*at: Scalar) -> Scalar:
        *outer, first = at
        return _word_from(operand, source, outer[:dimension], first, outer[dimension:])

    return compute(f"{source.name}_words", (*others, source.shape[dimension]), word)


def _word_from(
    operand: Operand,
    source: Tensor,
    before: Sequence[Scalar],
    first: Scalar,
    behind: Sequence[Scalar],
) -> Scalar:
    """The word of the elements from one on."""
    size, bits = source.shape[operand.dimension], WORD_BITS // operand.group
    total: Scalar | None = None
    for number in range(operand.group):
        at = first + number * operand.step
        own = _bits(part(operand, source[(*before, at, *behind)]), bits)
        if number:
            own = select(binary("lt", at, size), binary("shl", own, bits * number), 0)
        total = own if total is None else total + own
    assert total is not None
    return total


def _bits(element: Scalar, bits: int) -> Scalar:
    """The bits of a narrow element as the last ones of an int32."""
    if is_float(element.dtype):
        return cast(reinterpret(element, f"uint{bits}"), "int32")
    return binary("and", cast(element, "int32"), (1 << bits) - 1)


def _summed(load: Load, total: Reduce, rows: tuple[Axis, ...], rewriting: Rewriting) -> Scalar:
    """What the sum of one operand alone is at a point of the stage."""
    own = [axis for axis in rows if axis in axes_of(load)]
    moved = Load(rewriting.now(load.tensor), load.indices, dtype=load.dtype)

    def element(*at: Scalar) -> Scalar:
        steps = [Axis(axis.name, axis.extent) for axis in total.axes]
        indices: dict[Axis, Scalar] = dict(zip(total.axes, steps, strict=True))
        indices |= dict(zip(own, at, strict=True))
        used = [s for axis, s in zip(total.axes, steps, strict=True) if axis in axes_of(load)]
        times = prod(axis.extent for axis in total.axes if axis not in axes_of(load))
        return reduce("sum", used, substitute(cast(moved, "int32") * times, indices))

    sums = compute(f"{load.tensor.name}_sums", [axis.extent for axis in own], element)
    known: Tensor = folded(sums, rewriting)
    return known[tuple(own)]
