"""What a tiled nest reads and writes beyond the first cache, and what waits for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from operator import mul

from relay_tune.machine.machine import Machine
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.cost.analysis import Access, NestAnalysis
from relay_tune.schedule.cost.cache_sets import crowded_bytes, reloaded_bytes
from relay_tune.schedule.cost.fetched_operands import fetched_ahead
from relay_tune.schedule.cost.load_count import (
    distinct_places,
    tiled_axes,
    vector_count,
)
from relay_tune.schedule.cost.partial_rows import lies_in_panels, scattering, torn_bytes
from relay_tune.schedule.cost.reading_order import crowding, outgrown_factor
from relay_tune.schedule.cost.weights import (
    is_far,
    stride_cycles,
    swept_cycles,
    waiting_cycles,
)
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.tensor.expression import Axis

REMEMBERED = 1 << 14


def memory_cycles(
    analysis: NestAnalysis, choice: TileChoice, machine: Machine
) -> tuple[float, float]:
    """Traffic beyond the first cache, and waiting for weights that nothing hides.

    A load is fetched again in each iteration of the loops that it depends on; between two uses
    lies the data of the innermost loop that it does not depend on, and the smallest cache which
    holds that serves the load.
    """
    nest, known = analysis.nest, machine.coefficients
    machine = _as_filled(machine, analysis)
    accesses = [*analysis.body_accesses, *analysis.result_accesses]
    tile = {axis: min(extent, axis.extent) for axis, extent in tiled_axes(nest, choice)}
    loops, boxes = _touched_by_loops(nest, choice, accesses, tile)
    fetched = _fetched(analysis, choice, machine)
    awaited = fetched if analysis.match is None else frozenset()
    places = [2 if access in fetched else 1 for access in accesses]  # the next comes meanwhile
    working_sets = [sum(map(mul, box, places)) for box in boxes]
    crowded = crowding(analysis, tile, machine)
    outgrown = _outgrown(analysis, choice, working_sets, machine)
    points = prod(axis.extent for axis in (*nest.axes, *nest.reduction))
    cycles, exposed = 0.0, 0.0
    for access, touched in zip(accesses, zip(*boxes, strict=True), strict=True):
        again, first, waited = _access_cycles(
            access, touched, loops, working_sets, analysis, machine, is_awaited=access in awaited
        )
        in_order = access.constant and access not in awaited and choice.vector >= 0
        if in_order and is_far(access, machine):
            first *= known.one_stream
        if not access.constant:
            first *= outgrown
        scattered = scattering(access, analysis, choice, loops, machine)
        moved = scattered * (again + first * (1.0 if access.is_near else crowded))
        cycles += moved
        if lies_in_panels(analysis, choice, access, machine):
            exposed += known.exposed_parts * (moved - moved / scattered)
        if not access.constant:
            if access in fetched:
                exposed += known.prefetch * first
            elif access in analysis.body_accesses and _is_read_again(access, loops):
                exposed += first * _unhidden(analysis, choice, access, touched[0], machine)
        else:
            is_fetched = access in fetched
            exposed += waiting_cycles(
                analysis, choice, access, waited, machine, is_fetched=is_fetched
            )
            uses = points / access.elements
            exposed += swept_cycles(access.elements * access.bytes, touched[0], uses, machine)
            in_body = _body_bytes(access, nest, choice, tile)
            exposed += stride_cycles(access.elements * access.bytes, in_body, uses, machine)
    if analysis.beside_windows:
        exposed += known.window_tile_wait * prod(count for _, count in loops)
    cycles += stored_cycles(analysis, machine)
    wasted = torn_bytes(analysis, tile, _stored_bytes(analysis))
    wasted += reloaded_bytes(analysis, choice, machine)
    wasted += crowded_bytes(analysis, choice, machine)
    return cycles + wasted / machine.memories[1].rate, exposed


def _outgrown(
    analysis: NestAnalysis, choice: TileChoice, working_sets: Sequence[float], machine: Machine
) -> float:
    """How much slower what a window reads comes from the second cache."""
    if not analysis.beside_windows or len(working_sets) < 2:
        return 1.0
    moved = [a.elements * a.bytes for a in analysis.body_accesses if not a.constant]
    everything = sum(moved) + _stored_bytes(analysis)
    is_rolled = choice.unroll < prod(axis.extent for axis in analysis.nest.reduction)
    return outgrown_factor(working_sets[1], everything, is_rolled, machine)


def _body_bytes(access: Access, nest: Nest, choice: TileChoice, tile: Mapping[Axis, int]) -> float:
    """What the body of the innermost loop reads of packed weights; nothing of others."""
    if choice.vector < 0 or access.form is None:
        return 0.0
    order = [nest.reduction[place] for place in choice.reduction_order]
    written_out = unrolled_extents(order, choice.unroll)
    return access.bytes * distinct_places(access.form, tile, written_out, None, 1)


def _as_filled(machine: Machine, analysis: NestAnalysis) -> Machine:
    """The machine as an intrinsic sees it that reads few long rows, which stay near."""
    costs = None if analysis.match is None else analysis.match.costs(machine)
    if costs is None:
        return machine
    first, second, *others = machine.memories
    larger = replace(second, bytes=costs.filled * second.bytes)
    return replace(machine, memories=(first, larger, *others))


def _fetched(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> frozenset[Access]:
    """What a tile fetches before it is wanted: an operand, of an intrinsic's all of its parts."""
    found = fetched_ahead(analysis, choice, machine) if choice.prefetch else None
    if found is None:
        return frozenset()
    if analysis.match is None:
        return frozenset((found,))
    return frozenset(access for access in analysis.body_accesses if access.constant)


def _touched_by_loops(
    nest: Nest, choice: TileChoice, accesses: Sequence[Access], tile: dict[Axis, int]
) -> tuple[list[tuple[Axis, int]], list[list[float]]]:
    """The outer loops, the innermost first, and the bytes of accesses in a tile and in each loop.

    A loop is its axis and how often it runs.
    """
    reduced = {axis: axis.extent for axis in nest.reduction}
    inner = dict(tile)
    loops: list[tuple[Axis, int]] = []
    boxes = [_footprints(accesses, tile, reduced)]
    for loop in reversed(outer_loops(nest.axes, choice)):
        axis = nest.axes[loop.place]
        loops.append((axis, loop.count))
        if loop.count == 1:
            boxes.append(boxes[-1])
            continue
        inner[axis] = min(inner[axis] * loop.count, axis.extent)
        boxes.append(_footprints(accesses, inner, reduced))
    return loops, boxes


def _is_read_again(access: Access, loops: Sequence[tuple[Axis, int]]) -> bool:
    """Whether several tiles read the same elements of what comes from afar."""
    form = access.form
    reused = form is not None and any(n > 1 and not form.coefficient(axis) for axis, n in loops)
    return reused and not access.is_near


def _unhidden(
    analysis: NestAnalysis, choice: TileChoice, access: Access, touched: float, machine: Machine
) -> float:
    """The share of a transfer from afar that the arithmetic of the first of several tiles leaves.

    Those that read the same later find all that the first one has fetched.
    """
    vectors = vector_count(analysis.nest, choice, dict(tiled_axes(analysis.nest, choice)))
    steps = prod(axis.extent for axis in analysis.nest.reduction)
    arithmetic = vectors * steps * analysis.body_operations / machine.vectors.fused_per_cycle
    transfer = touched / _bandwidth(access.elements * access.bytes, machine)
    return max(1.0 - arithmetic / transfer, 0.0) if transfer else 0.0


def stored_cycles(analysis: NestAnalysis, machine: Machine) -> float:
    """What storing the result takes, whatever the choice: its lines are read, and written back."""
    is_near = analysis.nest.target in analysis.near.tensors
    bandwidth = _kept_bandwidth if is_near else _bandwidth
    return 2 * _stored_bytes(analysis) / bandwidth(analysis.stored_around, machine)


def _stored_bytes(analysis: NestAnalysis) -> int:
    return prod(axis.extent for axis in analysis.nest.axes) * analysis.store_bytes


def _access_cycles(
    access: Access,
    touched: Sequence[float],
    loops: list[tuple[Axis, int]],
    working_sets: list[float],
    analysis: NestAnalysis,
    machine: Machine,
    *,
    is_awaited: bool,
) -> tuple[float, float, float]:
    """Cycles for one access: reading again, reading first, and what of that may be waited for.

    `touched` are the bytes that it touches in a tile and inside of each loop. `loops` and their
    counts go from the inside out, `working_sets` are the bytes inside each. What an iteration
    shares with the one before (rows of a sliding window) comes from the cache that holds an
    iteration, and costs its loads alone in the first one; where windows are used several times,
    arithmetic hides that. Weights are never in the second
    cache at first: a whole network has run since their last use. Where the nest is repeated, they
    may be there from the second time on. What is `awaited` is charged apart for coming from memory
    (see `late_panels`).
    """
    near, moved, again, repeated, reused = analysis.near, touched[0], 0.0, 1.0, False
    everything = access.elements * access.bytes
    exposed = 1.0 if everything <= machine.memories[1].bytes else _exposed_rereads(machine)
    for depth, (axis, count) in enumerate(loops):
        depends = access.form is None or access.form.coefficient(axis) != 0
        is_kept = bool(analysis.beside_windows) and working_sets[depth] <= machine.memories[0].bytes
        if reused:
            repeated *= 1 if is_kept and not depends else count
        elif depends or count == 1:
            moved, again = moved * count, again * count
            if analysis.beside_windows and moved > touched[depth + 1]:
                shared = 0.0 if is_kept else exposed * (moved - touched[depth + 1])
                again += shared / _bandwidth(working_sets[depth], machine)
                moved = touched[depth + 1]
        else:
            reused = True
            again += moved * (count - 1) / _bandwidth(working_sets[depth], machine)
    if access.form is not None and not analysis.beside_windows:
        moved = min(moved, float(everything))  # the last tile is a part of one
    if not access.constant:
        bandwidth = _kept_bandwidth if access.is_near else _bandwidth
        known = (1 - access.fresh) * moved * repeated / machine.memories[1].rate
        first = access.fresh * moved * repeated / bandwidth(everything, machine)
        return again * repeated + known, first, 0.0
    beyond = machine.memories[1].bytes + 1
    source = min(everything, machine.last_cache.bytes) if is_awaited else everything
    cold = moved * repeated / _bandwidth(max(source, beyond), machine) / near.repeats
    around = everything + near.bytes
    warm = moved * repeated / _kept_bandwidth(around, machine) * (1 - 1 / near.repeats)
    return again * repeated, cold + warm, cold + (warm if around >= beyond else 0.0)


def _exposed_rereads(machine: Machine) -> float:
    """The share of reading rows again that transfers from the third cache do not hide."""
    second, third = machine.memories[1:3]
    return min(max(machine.coefficients.exposed_rereads, third.rate / second.rate), 1.0)


def _footprints(
    accesses: Sequence[Access], extents: dict[Axis, int], reduced: dict[Axis, int]
) -> list[float]:
    """Bytes that each access touches over a box."""
    return [_footprint(access, extents, reduced) for access in accesses]


def _footprint(access: Access, extents: dict[Axis, int], reduced: dict[Axis, int]) -> float:
    """Bytes that an access touches over a box; a sliding window counts its overlap once."""
    if access.form is None:
        return float(access.bytes * prod(extents.values()))
    terms = access.form.terms
    own = tuple([each for each in extents.items() if each[0] in terms])
    return _affine_footprint(access, own, tuple(reduced.items()))


@remembered(REMEMBERED)
def _affine_footprint(
    access: Access, own: tuple[tuple[Axis, int], ...], reduced: tuple[tuple[Axis, int], ...]
) -> float:
    """The bytes of an affine access by the extents of the axes that it depends on."""
    assert access.form is not None
    points = distinct_places(access.form, dict(own), dict(reduced), None, 1)
    return access.bytes * min(points, float(access.elements))


def _bandwidth(working_set: float, machine: Machine) -> float:
    """Bytes a cycle from the smallest cache that holds a working set."""
    return next(memory.rate for memory in machine.memories if working_set <= memory.bytes)


def _kept_bandwidth(working_set: float, machine: Machine) -> float:
    """The same for what was just touched: of up to twice a cache's bytes a part is still there."""
    for memory, following in pairwise(machine.memories):
        if working_set < 2 * memory.bytes:
            missing = max(0.0, working_set / memory.bytes - 1)
            return 1 / ((1 - missing) / memory.rate + missing / following.rate)
    return machine.main.rate
