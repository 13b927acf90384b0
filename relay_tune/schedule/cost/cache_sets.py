"""Lines of the first cache that push each other out.

A cache puts a line where the low bits of its address say: lines that are 4096 bytes apart share one
set, which has room for a dozen. Two patterns of reading meet that.

Under a sliding window, rows and columns of an image that are many powers of two apart share few of
them:

    576 channels of float32: columns 2304 = 9 * 256 bytes apart, rows a multiple of 256
    a page of 4096 bytes has 16 sets 256 bytes apart, and a few lines find room in each

What a tile of 4 x 7 points reads under a 3 x 3 window of stride 2, 135 lines, then does not stay
between two taps, unless all taps are written out and each line is loaded once.

A tile that walks along its channels reads one element of each of its points for each step, and
spreads it over the lanes; the next steps read the elements beside them, in the same lines:

    x[2 * h + kh, 2 * w + kw, g * 16 + c]      512 channels: points of a row lie 4096 bytes apart

14 such points do not find their lines again in the next step. Of a window, too, a tile may want
sets unevenly:

    x[2 * h + kh, 2 * w + kw, c]      32 columns of 96 channels: rows lie 3 pages apart

A tile of 14 x 1 points under 5 x 5 taps has 31 rows in each of 5 sets, one of 1 x 14 points 5
rows in each of 31.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import gcd, prod

from relay_tune.machine.machine import LINE_BYTES, PAGE_BYTES
from relay_tune.remembered import remembered
from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.cost.tile import Tile, distinct_places
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.size import is_symbolic

REMEMBERED = 1 << 12


def reloaded_bytes(tile: Tile) -> float:
    """The bytes of lines of windows that tiles fetch again from the second cache, in all tiles."""
    analysis, vector, lanes = tile.analysis, tile.vector, tile.choice.lanes
    if vector is None:
        return 0.0
    extents, steps = tile.extents, tile.steps
    rounds = prod(steps.values()) / prod(tile.written_out.values())
    kept = tile.machine.coefficients.kept_lines
    again = 0.0
    for access in analysis.body_accesses:
        if access.form is None or access.constant or access.form.coefficient(vector) != 1:
            continue
        if not analysis.beside_windows and not access.repeats:
            continue
        form = access.whole_vectors(analysis.nest.reduction)
        lines = distinct_places(form, extents, steps, vector, lanes)
        touched = rounds * distinct_places(form, extents, tile.written_out, vector, lanes)
        strides = [form.coefficient(axis) * access.bytes for axis in (*extents, *steps)]
        apart = gcd(PAGE_BYTES, *(stride for stride in strides if stride >= LINE_BYTES))
        together = max(1, min(extents[vector] * access.bytes, apart) // LINE_BYTES)
        room = kept * together * PAGE_BYTES // max(apart, LINE_BYTES)
        missing = min(max((lines + tile.vectors) / room - 1, 0.0), 1.0)
        spread = missing * lanes * access.bytes
        crowded = _crowded_out(access, form, tile) * LINE_BYTES
        again += max(spread, crowded) * max(touched - lines, 0.0)
    return again * tile.count


def _crowded_out(access: Access, form: Affine, tile: Tile) -> float:
    """The share of the lines of a window that lie in sets which far too many of them want.

    Sets may be taken unevenly: where rows are pages apart, all rows of a column want the same.
    """
    vector = tile.vector
    assert vector is not None
    width = -(-tile.extents[vector] * access.bytes // LINE_BYTES)
    rows = _moves(form.without(vector), access, {**tile.extents, **tile.steps})
    return _share_in_crowds((*rows, (LINE_BYTES, width)), sum(_room(tile)))


@remembered(REMEMBERED)
def _share_in_crowds(moves: tuple[tuple[int, int], ...], most: float) -> float:
    """The share of lines in sets that more than so `most` of them want."""
    if prod(extent for _, extent in moves) <= most:
        return 0.0
    taken = _taken(moves)
    return sum(n for n in taken.values() if n > most) / taken.total()


def crowded_bytes(tile: Tile) -> float:
    """Bytes that a nest's tiles read again from L2 after conflict misses in L1."""
    if tile.vector is None or not tile.steps or tile.analysis.match is not None:
        return 0.0  # rows of matrix registers are whole lines, each of which is loaded once
    room, beyond = _room(tile)
    return tile.count * sum(
        _fetched_again(access, tile, room, beyond)
        for access in tile.analysis.body_accesses
        if _is_spread(access, tile.vector)
    )


def refetched_bytes(access: Access, tile: Tile) -> float:
    """The bytes of lines that all tiles together read again of an operand, after conflict misses.

    Each step of a sum reads a part of another row, the next tile the part beside it. Rows that
    share few sets, or are too many, have left the first cache when that comes.
    """
    if not _jumps(access, tile):
        return 0.0
    form = access.form
    assert form is not None
    row = prod(n for axis, n in tile.extents.items() if form.coefficient(axis) == 1) * access.bytes
    others = prod(n for axis, n in tile.extents.items() if form.coefficient(axis) > 1)
    width, torn = -(-row // LINE_BYTES), row % LINE_BYTES
    steps = _moves(form, access, tile.steps)
    lines = prod(extent for _, extent in steps)
    missed = 1.0
    if lines * width * LINE_BYTES <= tile.machine.memories[0].bytes:
        missed = _share_in_crowds((*steps, (LINE_BYTES, width)), _room(tile)[0])
    touched = width + max(torn - access.bytes, 0) / LINE_BYTES  # which may begin within a line
    return tile.count * missed * others * lines * touched * LINE_BYTES


def jumps(tile: Tile) -> bool:
    """Whether each step of a sum of products reads other lines of both operands, no constants.

    Of small tiles: larger ones do more with a line.
    """
    analysis = tile.analysis
    if analysis.match is not None or tile.vector is None or not tile.machine.vectors.has_few:
        return False
    accesses = analysis.body_accesses
    return len(accesses) == 2 and all(_jumps(access, tile) for access in accesses)


def _jumps(access: Access, tile: Tile) -> bool:
    """Whether each step reads other lines of an operand than the one before."""
    form = access.form
    if form is None or access.constant or access.repeats:
        return False
    steps = [abs(form.coefficient(axis)) * access.bytes for axis in tile.steps]
    return bool(steps) and not any(map(is_symbolic, steps)) and min(steps) >= LINE_BYTES


def _room(tile: Tile) -> tuple[float, float]:
    """The lines for which one set of L1 has room, and how many more all miss."""
    known, first = tile.machine.coefficients, tile.machine.memories[0]
    room = known.full_set * max(first.bytes // PAGE_BYTES, 1)
    return room, room * (known.overfull_set / known.full_set - 1)


def _is_spread(access: Access, vector: Axis) -> bool:
    """Whether all lanes read the same element of something that no build has packed."""
    return access.form is not None and not access.constant and vector not in access.form.terms


def _fetched_again(access: Access, tile: Tile, room: float, beyond: float) -> float:
    """The bytes that one tile fetches again: between steps within a line, and between taps.

    Lines for which there is `room` stay in one set of the cache; so many `beyond` all are missed.
    """
    assert access.form is not None
    reduction, extents = tile.order, tile.extents
    within = [axis for axis in reduction if _stays_in_line(access, axis)]
    if not within:
        return 0.0
    form = access.form
    for axis in within:
        form = form.without(axis)
    taps = {axis: axis.extent for axis in reduction if axis not in within}
    inside = {axis: taps[axis] for axis in reduction[reduction.index(within[-1]) + 1 :]}
    beside = {axis: tile.written_out[axis] for axis in inside}
    crowd = _crowd(_moves(form, access, {**extents, **inside}), room)
    missed = 0.0
    if crowd > room:
        steps = prod(tile.steps.values()) / prod(beside.values())
        loads = steps * distinct_places(form, extents, beside, None, 1)
        missed = _missing(crowd - room, beyond) * crowd / room * loads
    crowd = _crowd(_moves(form, access, {**extents, **taps}), room)
    if crowd > room:
        lines = max(1, prod(axis.extent for axis in within) * access.bytes // LINE_BYTES)
        turns = prod(extent for axis, extent in taps.items() if axis not in inside)
        touched = turns * distinct_places(form, extents, inside, None, 1)
        once = distinct_places(form, extents, taps, None, 1)
        missed += _missing(crowd - room, beyond) * lines * max(touched - once, 0.0)
    return missed * LINE_BYTES


def _stays_in_line(access: Access, axis: Axis) -> bool:
    """Whether neighbouring steps along an axis read one line."""
    return access.form is not None and 0 < access.form.coefficient(axis) * access.bytes < LINE_BYTES


def _missing(more: float, beyond: float) -> float:
    """The share of loads that do not find their line where so many more want the same set."""
    return more / beyond if more < beyond else 1.0


def _moves(
    form: Affine, access: Access, extents: Mapping[Axis, int]
) -> tuple[tuple[int, int], ...]:
    """(bytes apart, how many) of each axis along which a tile reads other lines."""
    found = ((form.coefficient(axis) * access.bytes, extent) for axis, extent in extents.items())
    return tuple(sorted((apart, extent) for apart, extent in found if apart and extent > 1))


@remembered(REMEMBERED)
def _crowd(moves: tuple[tuple[int, int], ...], room: float) -> int:
    """The most lines that want one set of the cache; 0 where all of them find room in any."""
    if prod(extent for _, extent in moves) <= room:
        return 0
    return max(_taken(moves).values())


def _taken(moves: tuple[tuple[int, int], ...]) -> Counter[int]:
    """How many lines want each set of the cache."""
    steps = [range(0, apart * extent, apart) for apart, extent in moves]
    lines = {sum(offsets) // LINE_BYTES for offsets in product(*steps)}
    return Counter(line % (PAGE_BYTES // LINE_BYTES) for line in lines)
