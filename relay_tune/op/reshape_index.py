"""Where the elements of a reshaped tensor come from, with as few divisions as possible.

A reshape is cut into groups of neighbouring axes with equal products: (1, 128, 12, 64) to
(128, 768) has the groups 128 -> 128 and (12, 64) -> 768. Within a group the indices of the result
are the digits of one number, and those of the source are other digits of the same number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Scalar, Tensor, binary, literal
from relay_tune.tensor.size import UndecidedSizeError, is_multiple, is_symbolic, surely_less
from relay_tune.tensor.tensor import Computed, compute


@dataclass(frozen=True, slots=True, eq=False)
class Digit:
    """`index * stride` with 0 <= index < extent: one summand of a flat index."""

    index: Scalar
    extent: int
    stride: int


def reshaped_tensor(
    name: str, source: Tensor, shape: Sequence[int], checked: bool = False
) -> Computed:
    """The tensor of `shape` with the elements of `source` in the same row-major order."""
    return compute(
        name,
        shape,
        lambda *axes: source[tuple(reshape_indices(source.shape, shape, axes, checked))],
    )


def reshape_indices(
    source: Sequence[int], target: Sequence[int], axes: Sequence[Scalar], checked: bool = False
) -> list[Scalar]:
    """The indices into a tensor of shape `source` of the element at `axes` of shape `target`.

    Raises UndecidedSizeError where the shapes have equally many elements at some sizes only, unless
    it is `checked` when the program runs that these are the sizes.
    """
    indices: list[Scalar] = [literal(0, INDEX)] * len(source)
    if 0 in source:
        return indices
    before, after = math.prod(source), math.prod(target)
    is_open = is_symbolic(before) or is_symbolic(after)
    if before != after and not (checked and is_open):
        raise UndecidedSizeError(f"{source} and {target} have equally many elements at times only.")
    for source_axes, target_axes in _groups(source, target):
        digits = flat_index(
            [axes[axis] for axis in target_axes], [target[axis] for axis in target_axes]
        )
        stride = 1
        for axis in reversed(source_axes):
            indices[axis] = digit(digits, stride, source[axis])
            stride *= source[axis]
    return indices


def flat_index(axes: Sequence[Scalar], shape: Sequence[int]) -> list[Digit]:
    """The row-major number of the element at `axes` of `shape`, as summands."""
    return [
        Digit(axis, extent, math.prod(shape[index + 1 :]))
        for index, (axis, extent) in enumerate(zip(axes, shape, strict=True))
        if extent != 1
    ]


def digit(number: Sequence[Digit], stride: int, extent: int) -> Scalar:
    """`number // stride % extent`; summands that cannot matter are dropped first."""
    if extent == 1:
        return literal(0, INDEX)
    low = [part for part in number if not is_multiple(part.stride, stride * extent)]
    multiples = [part for part in low if is_multiple(part.stride, stride)]
    rest = [part for part in low if not is_multiple(part.stride, stride)]
    result = _sum(multiples, stride)
    if not surely_less(_limit(rest), stride + 1):
        result = result + binary("floordiv", _sum(rest, 1), stride)
    is_small = surely_less(_limit(low), stride * extent + 1)
    return result if is_small else binary("floormod", result, extent)


def _sum(parts: Sequence[Digit], divisor: int) -> Scalar:
    total: Scalar = literal(0, INDEX)
    for part in parts:
        total = total + part.index * (part.stride // divisor)
    return total


def _limit(parts: Sequence[Digit]) -> int:
    """One more than the greatest value of a sum."""
    return 1 + sum((part.extent - 1) * part.stride for part in parts)


def _groups(
    source: Sequence[int], target: Sequence[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The smallest groups of neighbouring axes of equal product; axes of size 1 are in none.

    Where products are equal at some sizes only, the last group has all that is left.
    """
    left = [axis for axis, size in enumerate(source) if size != 1]
    right = [axis for axis, size in enumerate(target) if size != 1]
    before = list(accumulate((source[axis] for axis in left), mul))
    after = list(accumulate((target[axis] for axis in right), mul))
    groups = []
    first, second = 0, 0
    for index, product in enumerate(before):
        if product in after:
            end = after.index(product) + 1
            groups.append((tuple(left[first : index + 1]), tuple(right[second:end])))
            first, second = index + 1, end
    if first < len(left) or second < len(right):
        groups.append((tuple(left[first:]), tuple(right[second:])))
    return groups
