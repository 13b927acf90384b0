"""How far tiles reach: their extents, their vectors, and the elements that an access touches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from math import prod

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis


def tiled_axes(nest: Nest, choice: TileChoice) -> list[tuple[Axis, int]]:
    """Each axis with its extent in the tile."""
    return list(zip(nest.axes, choice.tile, strict=True))


def tile_variants(tiles: Iterable[tuple[Axis, int]]) -> list[tuple[int, dict[Axis, int]]]:
    """How many tiles there are of each shape, the whole ones first, others at the edges."""
    variants = [(axis, _extents(axis.extent, tile)) for axis, tile in tiles]
    return [
        (
            prod(count for count, _ in found),
            {a: n for (a, _), (_, n) in zip(variants, found, strict=True)},
        )
        for found in product(*(extents for _, extents in variants))
    ]


def _extents(extent: int, tile: int) -> list[tuple[int, int]]:
    """(how many tiles, their extent): the full ones and the one at the edge."""
    full, rest = divmod(extent, tile)
    return [(full, tile)] * bool(full) + [(1, rest)] * bool(rest)


def vector_axis(nest: Nest, choice: TileChoice) -> Axis | None:
    """The output axis along the lanes, if there is one."""
    return nest.axes[choice.vector] if choice.vector >= 0 else None


def vector_count(nest: Nest, choice: TileChoice, extents: Mapping[Axis, int]) -> int:
    """Registers that hold the points of a tile."""
    vector = vector_axis(nest, choice)
    count = 1
    for axis, extent in extents.items():
        count *= -(-extent // choice.lanes) if axis is vector else extent
    return count * (choice.unroll if choice.vector == -2 else 1)


def distinct_places(
    form: Affine,
    extents: Mapping[Axis, int],
    unrolled: Mapping[Axis, int],
    vector: Axis | None,
    lanes: int,
) -> float:
    """Different places that an access touches in a tile, vectors counting once."""
    factors = form.terms
    windows = {axis: steps for axis, steps in unrolled.items() if axis in factors}
    count = 1.0
    for axis, extent in extents.items():
        factor = factors.get(axis)
        if factor is None:
            continue
        if axis is vector:
            count *= -(-extent // lanes)
            continue
        points = extent
        for window, steps in windows.items():
            stride = factor // factors[window]
            if stride and factor == stride * factors[window] and stride <= steps:
                points = (points - 1) * stride + steps
                del windows[window]
                break
        count *= points
    for steps in windows.values():
        count *= steps
    return count


def neighbours(form: Affine, vector: Axis, extents: Mapping[Axis, int]) -> int:
    """How many elements beside each other a tile has of an access whose lanes lie apart."""
    return next((n for a, n in extents.items() if a is not vector and form.coefficient(a) == 1), 1)


def run_length(form: Affine, extents: Mapping[Axis, int]) -> int:
    """How many elements of a box of axes follow each other in memory before the first gap."""
    length = 1
    for axis in sorted((a for a in extents if form.coefficient(a)), key=form.coefficient):
        if form.coefficient(axis) != length:
            break
        length *= min(extents[axis], axis.extent)
    return length
