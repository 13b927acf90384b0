"""What it costs that tiles read and write parts of rows, at many locations, or in bad order.

Under a sliding window the innermost loop around the tiles walks along the channels, and each point
of the tile and of its surroundings is a row of lines of its own:

    tiles of 4 x 7 points, stride 2, 560 channels: 9 * 15 rows of 35 lines, 302 KB in one run
    the same in blocks of 3 vectors of channels:   9 * 15 rows of 3 lines, 26 KB in one run

The first needs every line once, as the second does, and still waits longer for them: lines that the
processor fetches ahead push out others. Where a loop over the rows of the window is left, each load
of its body strides from row to row instead of along the channels, and what is fetched ahead of it
is of no use.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, log2, prod

from relay_tune.machine.machine import LINE_BYTES, Machine
from relay_tune.remembered import remembered
from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.cost.fetched_operands import may_lie_in_pieces
from relay_tune.schedule.cost.tile import Tile, distinct_places, run_length
from relay_tune.schedule.cost.traffic import Traffic
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis

REMEMBERED = 1 << 12


def partial_row(access: Access, traffic: Traffic) -> tuple[float, bool]:
    """What tiles pay for taking parts of rows; whether these are short ones, one behind the other.

    Rows that are read whole follow each other in memory; packed constants always do. A long part
    of a row is as good as all.
    """
    form, tile = access.form, traffic.tile
    if form is None or access.constant:
        return 1.0, False
    known, machine = traffic.machine.coefficients, traffic.machine
    long, in_panels = known.long_row, _lies_in_panels(access, form, tile)
    if in_panels:
        length: float = run_length(form, {**tile.extents, **tile.steps})
    else:
        length = _walked_row(form, traffic)
        if access.all_bytes > machine.memories[1].bytes and tile.analysis.beside_windows:
            long = known.long_far_row
    return known.partial_row if length * access.bytes < long else 1.0, in_panels


def jumping(access: Access, traffic: Traffic) -> float:
    """How much slower data come from LLC or DRAM of which each step of a sum reads a part of a row.

    The rest of the row is read when all steps have gone by: nothing that the processor fetches
    ahead is of use.
    """
    tile, machine = traffic.tile, traffic.machine
    is_far = access.all_bytes > machine.memories[1].bytes and not access.is_near
    if access.form is None or not is_far or not tile.analysis.is_read_once(access):
        return 1.0
    run = run_length(access.form, {**tile.extents, **tile.steps}) * access.bytes
    return 1.0 + machine.coefficients.row_jump * LINE_BYTES / run


def _lies_in_panels(access: Access, form: Affine, tile: Tile) -> bool:
    """Whether the steps of a reduction read vectors of short rows, one behind the other."""
    if tile.vector is None or form.coefficient(tile.vector) != 1:
        return False
    if not may_lie_in_pieces(tile.analysis, access):
        return False
    row = min(step for axis in tile.steps if (step := form.coefficient(axis)))
    return row > 1 and row * access.bytes < tile.machine.coefficients.long_row


def _walked_row(form: Affine, traffic: Traffic) -> float:
    """How many elements of a row tiles read one behind the other; endless where that is all.

    A row goes on in the tiles that follow as far as the innermost loops walk along it.
    """
    run = dict(traffic.tile.extents)
    axes = sorted((axis for axis in run if form.coefficient(axis)), key=form.coefficient)
    if not axes or form.coefficient(axes[0]) != 1:
        return inf
    for axis, count in traffic.loops:
        before = axes[: axes.index(axis)] if axis in axes else axes
        if count > 1 and (axis not in axes or any(run[a] < a.extent for a in before)):
            break
        run[axis] = min(run[axis] * count, axis.extent)
    length = 1
    for axis in axes:
        length *= run[axis]
        if run[axis] < axis.extent:
            return length
    return inf


def one_stream(access: Access, traffic: Traffic) -> float:
    """How much slower weights come from memory that are read in the order in which they lie."""
    machine = traffic.machine
    is_far = access.all_bytes > machine.last_cache.bytes
    in_order = is_far and traffic.choice.vector >= 0 and not traffic.awaits(access)
    return machine.coefficients.one_stream if in_order else 1.0


@remembered(REMEMBERED)
def crowding(tile: Tile) -> float:
    """How much slower data come from LLC or DRAM when a tile accesses many locations.

    Under a sliding window each point of a tile, and of its surroundings, is a location of its own,
    from which the innermost loop walks along the vector axis.
    """
    analysis, machine, known = tile.analysis, tile.filled, tile.machine.coefficients
    second = machine.memories[1].bytes
    far = [a for a in analysis.accesses if a.all_bytes > second and not a.is_near]
    if not far or not analysis.beside_windows:
        streams = sum(access.streams for access in far)
        return known.crowded_streams if streams > known.followed_streams else 1.0
    locations = float(prod(_apart(analysis.store_form, tile).values()))
    for access in far:
        if access.form is not None:
            locations += distinct_places(
                access.form, _apart(access.form, tile), tile.steps, None, 1
            )
    return 1.0 + known.crowded_row * max(locations - known.followed_rows, 0.0)


def _apart(form: Affine | None, tile: Tile) -> dict[Axis, int]:
    """The extents of a tile on the axes whose points are not beside each other in memory."""
    extents = tile.extents.items()
    return {axis: n for axis, n in extents if form is None or form.coefficient(axis) != 1}


def outgrown(traffic: Traffic) -> float:
    """How much slower what a window reads comes from the second cache."""
    tile = traffic.tile
    analysis = tile.analysis
    if not analysis.beside_windows or len(traffic.working_sets) < 2:
        return 1.0
    moved = sum(access.all_bytes for access in analysis.body_accesses if not access.constant)
    is_rolled = traffic.choice.unroll < prod(tile.steps.values())
    everything = moved + analysis.stored
    return outgrown_factor(traffic.working_sets[1], everything, is_rolled, traffic.machine)


def outgrown_factor(run_bytes: float, all_bytes: float, rolled: bool, machine: Machine) -> float:
    """How much slower data come from the second cache, 1 or more.

    `run_bytes` are what one run of tiles touches, `all_bytes` what the nest reads and writes:
    where that is up to twice as much as the second cache, a part of it is there, and slower
    transfers of the rest hide this.
    """
    known = machine.coefficients
    near, second = (memory.bytes for memory in machine.memories[:2])
    kept = min(max(known.kept_in_second - known.kept_in_second_fall * all_bytes / second, 0.0), 1.0)
    doublings = log2(max(run_bytes / (known.outgrown_share * near), 1.0))
    slower = known.outgrown_run * min(doublings, known.outgrown_doublings)
    slower += known.rolled_window * rolled
    return 1.0 + kept * slower


def torn_bytes(tile: Tile) -> float:
    """Bytes of cache lines that tiles touch a part of, beyond that part.

    Counted for what is stored, and read without a reduction; other tiles fetch them again.
    """
    analysis, extents = tile.analysis, tile.extents
    torn = 0.0
    if analysis.store_form is not None:
        torn += _torn(analysis.store_form, analysis.store_bytes, extents) * analysis.stored
    if analysis.nest.body is not None:
        return torn
    for access in analysis.result_accesses:
        if access.form is not None:
            read = prod(axis.extent for axis in extents if access.form.coefficient(axis))
            torn += _torn(access.form, access.bytes, extents) * read * access.bytes
    return torn


def _torn(form: Affine, size: int, tile: Mapping[Axis, int]) -> float:
    """The bytes of the lines that a tile touches beside those that it wants, by the latter."""
    run = 1
    for axis in sorted(tile, key=form.coefficient):
        if form.coefficient(axis) == run:
            run *= tile[axis]
            if tile[axis] < axis.extent:
                break
    return max(LINE_BYTES / (run * size) - 1.0, 0.0)
