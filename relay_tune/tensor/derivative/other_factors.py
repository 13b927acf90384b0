"""The product of all other factors, for each factor of a product: exact with zeros among them.

Neighbours are multiplied in pairs until one product is left; on the way back each product hands the
others of its pair down. That takes as many multiplications as three products, and every step is an
expression that has derivatives itself.

    factors       a         b         c      d
    pairs            ab                 cd
    others of pairs  cd                 ab
    others       b * cd    a * cd    d * ab  c * ab
"""

from __future__ import annotations

from math import prod

from relay_tune.tensor.expression import Load, Reduce, Scalar, Tensor, binary, literal, select
from relay_tune.tensor.size import UndecidedSizeError, is_symbolic
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.tensor.walk import substitute


def other_factors(tensor: Computed) -> Load:
    """The product of the other factors, at a point of a product."""
    reduction = tensor.body
    assert isinstance(reduction, Reduce)
    count = prod(axis.extent for axis in reduction.axes)
    if is_symbolic(count):
        raise UndecidedSizeError(f"The derivative of a product of {count} factors is needed.")
    number: Scalar = literal(0, "int64")
    for axis in reduction.axes:
        number = number * axis.extent + axis
    return _others(_factors(tensor, reduction, count))[(*tensor.axes, number)]


def _factors(tensor: Computed, reduction: Reduce, count: int) -> Tensor:
    """The factors along a last axis whose size is a power of two, filled up with ones."""

    def factor(*indices: Scalar) -> Scalar:
        *outer, number = indices
        named = dict(zip(tensor.axes, outer, strict=True))
        stride = count
        for axis in reduction.axes:
            stride //= axis.extent
            digit = binary("floordiv", number, stride)
            named[axis] = digit if axis is reduction.axes[0] else digit % axis.extent
        return substitute(reduction.body, named)

    def element(*indices: Scalar) -> Scalar:
        return select(binary("lt", indices[-1], count), listed[indices], 1.0)

    listed = compute("factors", (*tensor.shape, count), factor)
    size = 1 << max(count - 1, 0).bit_length()
    return listed if size == count else compute("factors", (*tensor.shape, size), element)


def _others(factors: Tensor) -> Tensor:
    """The products of all others along the last axis, whose size is a power of two."""
    levels = [factors]
    while levels[-1].shape[-1] > 1:
        levels.append(_pairs(levels[-1]))
    others: Tensor = compute("others", levels[-1].shape, lambda *_: literal(1.0, factors.dtype))
    for level in reversed(levels[:-1]):
        others = _handed_down(level, others)
    return others


def _pairs(level: Tensor) -> Tensor:
    def element(*indices: Scalar) -> Scalar:
        *outer, number = indices
        return level[(*outer, number * 2)] * level[(*outer, number * 2 + 1)]

    return compute("pairs", (*level.shape[:-1], level.shape[-1] // 2), element)


def _handed_down(level: Tensor, others: Tensor) -> Tensor:
    def element(*indices: Scalar) -> Scalar:
        *outer, number = indices
        neighbour = number + 1 - binary("floormod", number, 2) * 2
        above = others[(*outer, binary("floordiv", number, 2))]
        return above * level[(*outer, neighbour)]

    return compute("others", level.shape, element)
