"""Sums of products of narrow integers by dot products of words, as ordinary stages of a program.

    before:  y[m, o] = sum(k < 7) int32(x[m, k]) * int32(w[o, k])
    after:   xs[m, b] = word(x[m, 4 * b], .., x[m, 4 * b + 3])              2 words, the last of 3
             ws[o, b] = word(w[o, 4 * b], .., w[o, 4 * b + 3])
             y[m, o] = sum(b < 2) dot_u8s8(xs[m, b], ws[o, b])

Words of constants are made when the program is built. A word is an element of 32 bits like a
float32: tiles, panels, epilogues, blocks and threads of the sums are those of products of floats.
Sums wrap modulo 2^32 as those of int32 do, whatever the order.

Instructions take bytes of certain signs. With 128 added to signed ones, sum(x * w) is
sum((x + 128) * w) - 128 * sum(w).
"""

from __future__ import annotations

from math import prod

from relay_tune.machine.pattern import WORD_BITS, WordPattern
from relay_tune.schedule.nests.constant_stages import folded
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.dot_products.match import (
    DotProducts,
    Operand,
    match_dot_products,
)
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Load,
    Reduce,
    Scalar,
    Tensor,
    binary,
    cast,
    index_value,
    literal,
    reduce,
    select,
)
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.tensor.walk import axes_of, substitute


def has_dot_products(program: TensorProgram, pattern: WordPattern) -> bool:
    """Whether a program has sums that dot products of a pattern compute."""
    stages = tensors_in_order(program.outputs)
    return any(match_dot_products(stage, pattern) is not None for stage in stages)


def word_program(program: TensorProgram, pattern: WordPattern) -> TensorProgram | None:
    """The program with dot products of words in place of its products; None if it has none."""

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        found = match_dot_products(stage, pattern)
        return None if found is None else _in_words(found, pattern, rewriting)

    return with_rewritten_stages(program, rewrite)


def _in_words(found: DotProducts, pattern: WordPattern, rewriting: Rewriting) -> Computed:
    """The sums of a stage, and what makes up for elements of another sign."""
    stage, total = found.stage, found.stage.body
    assert isinstance(total, Reduce)
    steps = Axis(found.axis.name, -(-found.axis.extent // pattern.group))
    left, right = (_word(each, steps, rewriting) for each in found.operands)
    axes = [steps if axis is found.axis else axis for axis in total.axes]
    body = reduce("sum", axes, Binary(pattern.name, left, right, dtype="int32"))
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


def _word(operand: Operand, step: Axis, rewriting: Rewriting) -> Load:
    """The word of an operand at a step."""
    words = folded(_words(operand, rewriting), rewriting)
    start, at = operand.start, operand.dimension
    if operand.is_aligned:
        index = _expression(start, operand.group) + step
    else:
        index = _expression(start, 1) + step * operand.group
    indices = operand.load.indices
    return words[(*indices[:at], index, *indices[at + 1 :])]


def _expression(start: Affine, divisor: int) -> Scalar:
    """A sum of multiples of a divisor, divided by it."""
    total: Scalar = index_value(start.constant // divisor)
    for node, factor in start.terms.items():
        assert isinstance(node, Scalar)
        total = node * (factor // divisor) + total
    return total


def _words(operand: Operand, rewriting: Rewriting) -> Computed:
    """The words of an operand's tensor, with zeros behind its end."""
    source, place, group = rewriting.now(operand.load.tensor), operand.dimension, operand.group
    size, apart = source.shape[place], group if operand.is_aligned else 1
    shape = (*source.shape[:place], -(-size // apart), *source.shape[place + 1 :])

    def word(*at: Scalar) -> Scalar:
        total: Scalar | None = None
        for number in range(group):
            index = at[place] * apart + number
            part = _part(operand, source[(*at[:place], index, *at[place + 1 :])], number)
            if number and (apart == 1 or size % group):
                part = select(binary("lt", index, size), part, 0)
            total = part if total is None else total + part
        assert total is not None
        return total

    return compute(f"{source.name}_words", shape, word)


def _part(operand: Operand, element: Scalar, number: int) -> Scalar:
    """An element in its place in a word, whose other bits are zero."""
    bits = WORD_BITS // operand.group
    value = cast(element, "int32") + operand.offset
    is_last = number + 1 == operand.group
    is_unsigned = operand.dtype.startswith("u") or element.dtype.startswith("u")
    if not is_last and not (is_unsigned and not operand.offset):
        value = binary("and", value, (1 << bits) - 1)
    return binary("shl", value, bits * number) if number else value


def _summed(load: Load, total: Reduce, rows: tuple[Axis, ...], rewriting: Rewriting) -> Scalar:
    """What the sum of one operand alone is at a point of the stage."""
    own = [axis for axis in rows if axis in axes_of(load)]
    moved = Load(rewriting.now(load.tensor), load.indices, dtype=load.dtype)

    def element(*at: Scalar) -> Scalar:
        steps = [Axis(axis.name, axis.extent) for axis in total.axes]
        places: dict[Axis, Scalar] = dict(zip(total.axes, steps, strict=True))
        places |= dict(zip(own, at, strict=True))
        used = [s for axis, s in zip(total.axes, steps, strict=True) if axis in axes_of(load)]
        times = prod(axis.extent for axis in total.axes if axis not in axes_of(load))
        return reduce("sum", used, substitute(cast(moved, "int32") * times, places))

    sums = compute(f"{load.tensor.name}_sums", [axis.extent for axis in own], element)
    known: Tensor = folded(sums, rewriting)
    return known[tuple(own)]
