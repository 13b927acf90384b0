"""Long sums of which parts are added up where results are stored.

    before:  for i, o: y[i, o] = sum(p in 64, s in 512) x[p, s, i] * d[p, s, o]
    after:   for p in 64:
               for i, o: y[i, o] = (y[i, o] if p > 0 else 0) + sum(s in 512) x[p, s, i] * d[p, s, o]

The loop over parts stands around the tiles, so that what a part reads stays in L2 until
all tiles have read it; the results are read and written once for each part. This is the blocking
along the sum of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM
TOMS 2008), section 4. Parts are added in their order, whatever other loops there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from relay_tune.schedule.nests.nest import Nest, with_roots
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Load,
    Scalar,
    binary,
    index_value,
    literal,
    select,
)
from relay_tune.tensor.index import simplify
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import axes_of, loads


def with_carried_sum(nest: Nest, steps: int) -> Nest:
    """The nest with parts of its sum, of so many steps at most, around its tiles.

    The nest as it is where its sum is no longer than a part, or no sum of products of its own.
    """
    counts = parts_of([axis.extent for axis in nest.reduction], steps) if _is_plain(nest) else ()
    if prod(counts) < 2:
        return nest
    carried: list[Axis] = []
    reduction: list[Axis] = []
    own: dict[Axis, Scalar] = {}
    for axis, count in zip(nest.reduction, counts, strict=True):
        length = axis.extent // count
        part, step = Axis(f"{axis.name}_p", count), Axis(axis.name, length)
        if count > 1:
            carried.append(part)
        if length > 1:
            reduction.append(step)
        at = part * length if count > 1 else index_value(0)
        own[axis] = at + step if length > 1 else at
    roots = [simplify(root, own) for root in nest.roots]
    cut = with_roots(nest, roots, nest.axes, [*carried, *reduction])
    return carrying(cut, carried)


def carrying(nest: Nest, carried: Sequence[Axis]) -> Nest:
    """The nest with some axes of its sum around its tiles: it adds to what it has stored."""
    if not carried:
        return nest
    position = _first_that_shares(nest)
    axes = (*nest.axes[:position], *carried, *nest.axes[position:])
    steps = [axis for axis in nest.reduction if axis not in carried]
    cut = with_roots(nest, nest.roots, axes, steps)
    earlier = Load(nest.target, (nest.index,), dtype=nest.target.dtype)
    number: Scalar = index_value(0)
    for part in carried:
        number = number * part.extent + part
    total = select(binary("eq", number, 0), literal(0, earlier.dtype), earlier) + cut.result
    return replace(cut, result=total, carried=tuple(carried))


def parts_of(extents: Sequence[int], steps: int) -> tuple[int, ...]:
    """Into how many parts each axis is cut, so that a part has so many steps at most.

    The inner axes stay whole as far as they go.
    """
    found, room = [], steps
    for extent in reversed(extents):
        inner = next(n for n in range(min(extent, max(room, 1)), 0, -1) if extent % n == 0)
        found.append(extent // inner)
        room = room // inner if inner == extent else 0
    return tuple(reversed(found))


def _is_plain(nest: Nest) -> bool:
    """Whether a nest stores a sum of products of floats as it is, of sizes that are known."""
    body, result = nest.body, nest.result
    if nest.operation != "sum" or not isinstance(body, Binary) or body.operation != "mul":
        return False
    if not isinstance(result, Load) or result.tensor is not nest.accumulator:
        return False
    sizes = (axis.extent for axis in (*nest.axes, *nest.reduction))
    return body.dtype.startswith("float") and not any(map(is_symbolic, sizes))


def _first_that_shares(nest: Nest) -> int:
    """Position of the first axis along which an operand is used again; parts stand before it."""
    assert nest.body is not None
    used = [set(axes_of(*load.indices)) for load in loads(nest.body)]
    return next(
        (
            position
            for position, axis in enumerate(nest.axes)
            if any(axis not in each for each in used)
        ),
        len(nest.axes),
    )
