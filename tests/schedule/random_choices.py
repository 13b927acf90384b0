"""Random choices for a nest: points of its space, and any others that a schedule file may hold."""

import random
from dataclasses import replace

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.match import IntrinsicMatch, intrinsic_match
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.schedule import misfit
from relay_tune.schedule.space.space import NestSpace

SMALL_TILE = 8
"""Points of tiles where a program has stages of long expressions: the code is a third as long."""


def point_of_space(rng: random.Random, space: NestSpace) -> TileChoice:
    """Any combination of a space's values, sensible or not."""
    chosen = {
        name: rng.choice(values) for name, values in zip(space.names, space.values, strict=True)
    }
    return space.decode(chosen)


def any_choice(rng: random.Random, nest: Nest, most_points: int = 24) -> TileChoice:
    """A choice that fits the nest, however odd; its tile has about `most_points` at most."""
    product = intrinsic_match(nest)
    if product is None:
        return _any_tile(rng, nest, most_points)
    choice = _any_matrix_tile(rng, nest, product)
    while misfit(choice, nest) is not None:
        choice = _any_matrix_tile(rng, nest, product)
    return choice


def _any_matrix_tile(rng: random.Random, nest: Nest, product: IntrinsicMatch) -> TileChoice:
    """A tile of any rows, those between registers too, in any order and blocks."""
    extents = dict.fromkeys(nest.axes, 1) | {product.column: product.column.extent}
    extents[product.row] = rng.randint(product.register_rows, product.row.extent)
    if product.block is not None:
        extents[product.block] = rng.randint(1, product.block.extent)
    choice = replace(
        _any_tile(rng, nest, most_points=1),
        vector=nest.axes.index(product.column),
        lanes=product.column.extent,
        tile=tuple(extents[axis] for axis in nest.axes),
        unroll=1,
        parallel=0,
        prefetch=False,
    )
    return replace(choice, parallel=rng.randint(0, len(outer_loops(nest.axes, choice))))


def _any_tile(rng: random.Random, nest: Nest, most_points: int) -> TileChoice:
    rank, reduced = len(nest.axes), len(nest.reduction)
    carried = {position for position, axis in enumerate(nest.axes) if axis in nest.carried}
    vector = rng.choice([*({*range(rank)} - carried), -1, *([-2] if reduced else [])])
    lanes = 1 if vector == -1 else rng.choice([1 if vector >= 0 else 2, 2, 4, 4, 8, 8, 16, 32])
    tile, points = [], 1
    for position in rng.sample(range(rank), rank):
        room = max(1, most_points * (lanes if position == vector else 1) // points)
        most = 1 if position in carried else max(1, min(nest.axes[position].extent, room))
        extent = rng.randint(1, most)
        points *= -(-extent // lanes) if position == vector else extent
        tile.append((position, extent))
    blocks = tuple(rng.choice([1, 1, rng.randint(1, axis.extent)]) for axis in nest.axes)
    choice = TileChoice(
        vector=vector,
        lanes=lanes,
        tile=tuple(extent for _, extent in sorted(tile)),
        order=tuple(rng.sample(range(rank), rank)),
        blocks=blocks,
        reduction_order=tuple(rng.sample(range(reduced), reduced)),
        unroll=rng.choice([1, 2, 3, 4, 7]),
        parallel=0,
        prefetch=rng.random() < 0.5,
    )
    loops = [loop.place for loop in outer_loops(nest.axes, choice)]
    first = next((n for n, position in enumerate(loops) if position in carried), len(loops))
    return replace(choice, parallel=rng.randint(0, first))
