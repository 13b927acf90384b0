"""Spaces whose kernels find constants packed as a given schedule wants them.

    64 rows:  tile 8 x 48   weights in panels of 48 columns
     4 rows:  tile 4 x 96   weights in panels of 96 columns; here: tile 4 x 48

Each packing is a copy of the weights. Where kernels for several numbers of rows take turns, copies
drive each other out of the cache, which costs more than a tile that is second best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.schedule import Schedule
from relay_tune.schedule.space.space import NestSpace, pair


def with_packing(spaces: Sequence[NestSpace], other: Schedule) -> tuple[NestSpace, ...]:
    """The parts of spaces that pack as a schedule does.

    It belongs to a program that differs in its number of rows only. What it chose for a nest that
    has no such choice is passed over.
    """
    if len(spaces) != len(other.choices):
        return tuple(spaces)
    return tuple(map(_narrowed, spaces, other.choices))


def with_columns(space: NestSpace, columns: int) -> NestSpace:
    """The part of a space whose tiles are so wide along the last axis, which lies along the lanes.

    The space itself where `columns` are 0, or its machine has no such vectors.
    """
    named = dict(zip(space.names, space.values, strict=True))
    last = len(space.analysis.nest.axes) - 1
    pairs = [pair(each) for each in named["vector"]] if columns else []
    lanes = max((n for position, n in pairs if position == last and not columns % n), default=0)
    if not lanes or columns // lanes not in named["vectors"]:
        return space
    known: dict[str, object] = {"vector": (last, lanes), "vectors": columns // lanes}
    values = tuple((known[name],) if name in known else named[name] for name in space.names)
    return replace(space, values=values)


def _narrowed(space: NestSpace, other: TileChoice) -> NestSpace:
    """The part of a space with the panels and the order of the reduction of a choice.

    A nest of one row has no axis of rows, which is the first.
    """
    nest = space.analysis.nest
    missing = len(other.tile) - len(nest.axes)
    if not nest.reduction or missing < 0 or 0 <= other.vector < missing:
        return space
    vector = other.vector - missing if other.vector >= 0 else other.vector
    known: dict[str, object] = {
        "vector": (vector, other.lanes),
        "reduction_order": other.reduction_order,
    }
    named = dict(zip(space.names, space.values, strict=True))
    if any(value not in named[name] for name, value in known.items()):
        return space
    if other.vector >= 0:
        known["vectors"] = -(-other.tile[other.vector] // other.lanes)
    values = tuple((known[name],) if name in known else named[name] for name in space.names)
    return replace(space, values=values)
