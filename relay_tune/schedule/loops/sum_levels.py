"""Long sums in levels, so that few numbers are added to a large one.

    before:  total = 0
             for n in 32: for h in 32: for w in 32:  total += x[n, h, w, c]
    after:   total = 0
             for n in 32:  rows = 0
                           for h in 32:  row = 0
                                         for w in 32:  row += x[n, h, w, c]
                                         rows += row
                           total += rows

A sum of N numbers of one size, one after the other, has a rounding error that grows with N, one in
levels with the sum of their lengths (Higham, "The accuracy of floating point summation", SIAM J.
Sci. Comput. 14(4), 1993, section 4). A mean over a batch of images has 32,768 numbers and more.
Products of matrices keep their single level: all their registers hold results.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.expression import Axis, Scalar
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import axes_of, loads

LEAST_SUM = 512
"""Shorter sums keep one level."""

LEAST_LEVEL = 16
"""Shorter levels are joined with the next one: each adds a few instructions to its steps."""

LEAST_SPLIT = 256
"""Shorter axes are not divided."""

MOST_LEVEL = 64
"""Longer axes become so many levels that each could be this long."""


@dataclass(frozen=True, slots=True)
class SumLevel:
    """One level.

    Attributes:
        axes: what it adds up over, outermost first.
        meaning: an axis of the nest that stands for a part of it, and what it is; None without one.
    """

    axes: tuple[Axis, ...]
    meaning: tuple[Axis, Scalar] | None = None


def sum_levels(nest: Nest, reduction: Sequence[Axis]) -> list[SumLevel]:
    """The levels of a reduction along these axes in turn, outermost first; one for most nests."""
    whole = [SumLevel(tuple(reduction))]
    body = nest.body
    if body is None or nest.operation != "sum" or not body.dtype.startswith(("float", "bfloat")):
        return whole
    if any(is_symbolic(axis.extent) for axis in reduction[1:]) or _is_product(nest):
        return whole
    known = [axis.extent for axis in reduction if not is_symbolic(axis.extent)]
    if prod(known) < LEAST_SUM:
        return whole
    levels: list[SumLevel] = []
    group: list[Axis] = []
    for axis in reversed(reduction):
        parts = [] if group or is_symbolic(axis.extent) else _parts(axis)
        if parts:
            levels += parts
            continue
        group.insert(0, axis)
        if is_symbolic(axis.extent) or prod(each.extent for each in group) >= LEAST_LEVEL:
            levels.append(SumLevel(tuple(group)))
            group = []
    if group and levels and levels[-1].meaning is None:
        levels[-1] = SumLevel((*group, *levels[-1].axes))
    elif group:
        levels.append(SumLevel(tuple(group)))
    return levels[::-1]


def _is_product(nest: Nest) -> bool:
    """Whether what is added up reads some elements for several results, as products do."""
    assert nest.body is not None
    reduced, results = set(nest.reduction), set(nest.axes)
    found = [set(axes_of(*load.indices)) for load in loads(nest.body)]
    return len({frozenset(axes & results) for axes in found if axes & reduced}) > 1


def _parts(axis: Axis) -> list[SumLevel]:
    """A long axis as levels, innermost first; none where it is short, or cannot be divided."""
    levels: list[SumLevel] = []
    while (length := _inner_length(axis.extent)) is not None:
        part, step = Axis(f"{axis.name}_p", axis.extent // length), Axis(f"{axis.name}_s", length)
        levels.append(SumLevel((step,), (axis, part * length + step)))
        axis = part
    return [*levels, SumLevel((axis,))] if levels else []


def _inner_length(extent: int) -> int | None:
    """A divisor that leaves levels of about one length; None where there is none, or no need."""
    if extent < LEAST_SPLIT:
        return None
    count = ceil(log(extent, MOST_LEVEL) - 1e-9)
    wanted = extent ** (1 / max(count, 2))
    divisors = [d for d in range(LEAST_LEVEL, extent // LEAST_LEVEL + 1) if extent % d == 0]
    return min(divisors, key=lambda d: abs(log(d / wanted)), default=None)
