"""Tiles over axes whose neighbours are an open distance apart in memory.

    x: [n, h, w, 16]     tile 13 x 1 over (h, w):  13 addresses, w * 16 elements apart
                         tile 1 x 13:              one address, and 13 distances that are known

Each position of such an axis needs an address in a register of its own. Where there are too few,
each step of the reduction loads them again.
"""

from __future__ import annotations

from dataclasses import replace

from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.space.space import NestSpace, integer
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads

MOST_ADDRESSES = 8
"""Positions of a tile along such an axis.

Measured with a convolution of 3x3 taps, 16 to 32 channels, images of 24x24 to 224x224, on one core:
tiles of 12x1 and 13x1 points take 1.18 to 1.35 of the time of 1x13; 6x2 and 2x6 as long as that.
"""


def with_few_addresses(space: NestSpace, nest: Nest) -> NestSpace:
    """The part of a space with few positions along axes whose strides in `nest` are open."""
    far = {f"tile{position}" for position, axis in enumerate(nest.axes) if _is_far(nest, axis)}
    named = zip(space.names, space.values, strict=True)
    values = tuple(_small(found) if name in far else found for name, found in named)
    return replace(space, values=values) if far else space


def _is_far(nest: Nest, axis: Axis) -> bool:
    if nest.body is None:
        return False
    forms = [axis_affine(load.indices[0]) for load in loads(nest.body)]
    return any(form is not None and is_symbolic(form.coefficient(axis)) for form in forms)


def _small(values: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(value for value in values if integer(value) <= MOST_ADDRESSES) or values
