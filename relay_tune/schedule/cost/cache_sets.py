"""Lines of the first cache that push each other out.

A cache puts a line where the low bits of its address say: lines that are 4096 bytes apart share one
set, which has room for a dozen. Two patterns of reading meet that.

Under a sliding window, rows and columns of an image that are many powers of two apart share few of
them:

    576 channels of float32: columns 2304 = 9 * 256 bytes apart, rows a multiple of 256
    a page of 4096 bytes has 16 places 256 bytes apart, and a few lines find room in each

What a tile of 4 x 7 points reads under a 3 x 3 window of stride 2, 135 lines, then does not stay
between two taps, unless all taps are written out and each line is loaded once.

A tile that walks along its channels reads one element of each of its points for each step, and
spreads it over the lanes; the next steps read the elements beside them, in the same lines:

    x[2 * h + kh, 2 * w + kw, g * 16 + c]      512 channels: points of a row lie 4096 bytes apart

14 such points do not find their lines again in the next step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import gcd, prod

from relay_tune.machine.machine import LINE_BYTES, PAGE_BYTES, Machine
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.cost.analysis import Access, NestAnalysis
from relay_tune.schedule.cost.load_count import (
    distinct_places,
    tiled_axes,
    vector_axis,
    vector_count,
)
from relay_tune.schedule.cost.shuffled_operands import whole_vectors
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis


def reloaded_bytes(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> float:
    """The bytes of lines that a nest's tiles fetch again from the second cache, in all tiles."""
    vector = vector_axis(analysis.nest, choice)
    if vector is None:
        return 0.0
    nest = analysis.nest
    tile = {axis: min(extent, axis.extent) for axis, extent in tiled_axes(nest, choice)}
    window = {axis: axis.extent for axis in nest.reduction}
    order = [nest.reduction[place] for place in choice.reduction_order]
    unrolled = unrolled_extents(order, choice.unroll)
    rounds = prod(window.values()) / prod(unrolled.values())
    again = 0.0
    for access in analysis.body_accesses:
        if access.form is None or access.constant or access.form.coefficient(vector) != 1:
            continue
        if not analysis.beside_windows and not access.repeats:
            continue
        form = whole_vectors(access, nest.reduction)
        lines = distinct_places(form, tile, window, vector, choice.lanes)
        touched = rounds * distinct_places(form, tile, unrolled, vector, choice.lanes)
        strides = [form.coefficient(axis) * access.bytes for axis in (*tile, *window)]
        apart = gcd(PAGE_BYTES, *(stride for stride in strides if stride >= LINE_BYTES))
        together = max(1, min(tile[vector] * access.bytes, apart) // LINE_BYTES)
        room = machine.coefficients.kept_lines * together * PAGE_BYTES // max(apart, LINE_BYTES)
        missing = min(max((lines + vector_count(nest, choice, tile)) / room - 1, 0.0), 1.0)
        again += missing * max(touched - lines, 0.0) * choice.lanes * access.bytes
    return again * prod(-(-axis.extent // extent) for axis, extent in tile.items())


REMEMBERED = 1 << 12


@dataclass(frozen=True, slots=True)
class Room:
    """How many lines stay in one place of the cache, and how many more until all are missed."""

    lines: float
    beyond: float


def crowded_bytes(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> float:
    """The bytes that a nest's tiles fetch again from the second cache, for want of places."""
    if choice.vector < 0 or not analysis.nest.reduction:
        return 0.0
    tile = tuple(map(min, choice.tile, (axis.extent for axis in analysis.nest.axes)))
    known = machine.coefficients
    room = known.full_set * max(machine.memories[0].bytes // PAGE_BYTES, 1)
    beyond = known.overfull_set / known.full_set - 1
    order, unroll = choice.reduction_order, choice.unroll
    return _in_tiles(analysis, choice.vector, tile, order, unroll, Room(room, room * beyond))


@remembered(REMEMBERED)
def _in_tiles(
    analysis: NestAnalysis,
    vector: int,
    extents: tuple[int, ...],
    order: tuple[int, ...],
    unroll: int,
    room: Room,
) -> float:
    """The same of tiles of such extents, where each place of the cache has so much room."""
    nest = analysis.nest
    tile = dict(zip(nest.axes, extents, strict=True))
    reduction = [nest.reduction[place] for place in order]
    again = sum(
        _fetched_again(access, reduction, unrolled_extents(reduction, unroll), tile, room)
        for access in analysis.body_accesses
        if _is_spread(access, nest.axes[vector])
    )
    return again * prod(-(-axis.extent // extent) for axis, extent in tile.items())


def _is_spread(access: Access, vector: Axis) -> bool:
    """Whether all lanes read the same element of something that no build has packed."""
    return access.form is not None and not access.constant and vector not in access.form.terms


def _fetched_again(
    access: Access,
    reduction: list[Axis],
    written: Mapping[Axis, int],
    tile: Mapping[Axis, int],
    room: Room,
) -> float:
    """The bytes that one tile fetches again: between steps within a line, and between taps.

    Args:
        access: of an operand that all lanes share.
        reduction: the axes of the steps, the innermost last.
        written: how many steps of each are written out.
        tile: the extents of the tile.
        room: how many lines stay in one place of the cache.
    """
    assert access.form is not None
    within = [axis for axis in reduction if _stays_in_line(access, axis)]
    if not within:
        return 0.0
    form = access.form
    for axis in within:
        form = form.without(axis)
    taps = {axis: axis.extent for axis in reduction if axis not in within}
    inside = {axis: taps[axis] for axis in reduction[reduction.index(within[-1]) + 1 :]}
    beside = {axis: written[axis] for axis in inside}
    crowd = _crowd(_moves(form, access, {**tile, **inside}), room.lines)
    missed = 0.0
    if crowd > room.lines:
        steps = prod(axis.extent for axis in reduction) / prod(beside.values())
        loads = steps * distinct_places(form, tile, beside, None, 1)
        missed = _missing(crowd, room) * crowd / room.lines * loads
    crowd = _crowd(_moves(form, access, {**tile, **taps}), room.lines)
    if crowd > room.lines:
        lines = max(1, prod(axis.extent for axis in within) * access.bytes // LINE_BYTES)
        turns = prod(extent for axis, extent in taps.items() if axis not in inside)
        touched = turns * distinct_places(form, tile, inside, None, 1)
        once = distinct_places(form, tile, taps, None, 1)
        missed += _missing(crowd, room) * lines * max(touched - once, 0.0)
    return missed * LINE_BYTES


def _stays_in_line(access: Access, axis: Axis) -> bool:
    """Whether neighbouring steps along an axis read one line."""
    return access.form is not None and 0 < access.form.coefficient(axis) * access.bytes < LINE_BYTES


def _missing(crowd: int, room: Room) -> float:
    """The share of loads that do not find their line where so many want the same place."""
    more = crowd - room.lines
    return more / room.beyond if more < room.beyond else 1.0


def _moves(
    form: Affine, access: Access, extents: Mapping[Axis, int]
) -> tuple[tuple[int, int], ...]:
    """(bytes apart, how many) of each axis along which a tile reads other lines."""
    found = ((form.coefficient(axis) * access.bytes, extent) for axis, extent in extents.items())
    return tuple(sorted((apart, extent) for apart, extent in found if apart and extent > 1))


@remembered(REMEMBERED)
def _crowd(moves: tuple[tuple[int, int], ...], room: float) -> int:
    """The most lines that want one place of the cache; 0 where all of them find room in any."""
    if prod(extent for _, extent in moves) <= room:
        return 0
    steps = [range(0, apart * extent, apart) for apart, extent in moves]
    lines = {sum(places) // LINE_BYTES for places in product(*steps)}
    return max(Counter(line % (PAGE_BYTES // LINE_BYTES) for line in lines).values())
