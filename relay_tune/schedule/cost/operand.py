"""What the tiles of a nest read of one tensor: how long it takes to come, and along which rows.

A load is fetched again in each iteration of the loops that it depends on; between two uses lies the
data of the innermost loop that it does not depend on, and the smallest cache which holds that
serves the load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from relay_tune.machine.machine import Machine
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.rows import crowding, jumping, one_stream, outgrown, partial_row
from relay_tune.schedule.cost.traffic import Traffic


@dataclass(frozen=True, eq=False, slots=True)
class Operand:
    """One load of a nest under a choice; what comes takes cycles beside arithmetic.

    Attributes:
        traffic: of the nest.
        access: the load.
        uses: how often each of its elements is used.
        in_tile: the bytes that a tile touches.
        first: cycles in which it is read first, from where it lies.
        waited: those that may be waited for: weights that the second cache holds are not.
        hidden: cycles in which it is read first and again, in the order of the tiles.
        exposed_part: how many of these are due to short rows, one behind the other.
    """

    traffic: Traffic
    access: Access
    uses: float
    in_tile: float
    first: float
    waited: float
    hidden: float
    exposed_part: float

    @property
    def is_fetched(self) -> bool:
        """Whether tiles ask for it before they want it."""
        return self.access in self.traffic.fetched

    @property
    def is_far(self) -> bool:
        """Whether no cache holds it."""
        return self.access.all_bytes > self.traffic.machine.last_cache.bytes


def operands(traffic: Traffic) -> Iterator[Operand]:
    """What a nest loads under a choice."""
    crowded, slower = crowding(traffic.tile), outgrown(traffic)
    points = traffic.tile.analysis.nest.points
    touched_by_loops = zip(*traffic.touched, strict=True)
    for access, touched in zip(traffic.tile.analysis.accesses, touched_by_loops, strict=True):
        again, first, waited = _transfer(access, touched, traffic)
        first *= one_stream(access, traffic) if access.constant else slower
        first *= jumping(access, traffic)
        parts, in_panels = partial_row(access, traffic)
        hidden = parts * (again + (first if access.is_near else first * crowded))
        exposed = hidden - hidden / parts if in_panels else 0.0
        waited = waited if access.constant else first
        uses = points / max(access.elements, 1)
        yield Operand(traffic, access, uses, touched[0], first, waited, hidden, exposed)


def _transfer(
    access: Access, touched: Sequence[float], traffic: Traffic
) -> tuple[float, float, float]:
    """Cycles of reading again, of reading first, and what of that may be waited for.

    Weights are never in the second cache at first: a whole network has run since their last use.
    Where the nest is repeated, they may be there from the second time on. What is fetched ahead,
    but for an intrinsic, is charged apart for coming from memory (see `late_cycles`).
    """
    machine, near = traffic.machine, traffic.tile.analysis.near
    again, moved, repeated = _read_again(access, touched, traffic)
    everything = access.all_bytes
    if not access.constant:
        bandwidth = kept_bandwidth if access.is_near else bandwidth_of
        read = moved * repeated
        fresh = access.fresh * read
        if traffic.reads_parts_once:
            fresh = min(fresh, float(everything))
        known = (read - fresh) / machine.memories[1].rate
        return again + known, fresh / bandwidth(everything, machine), 0.0
    beyond = machine.memories[1].bytes + 1
    source = min(everything, machine.last_cache.bytes) if traffic.awaits(access) else everything
    cold = moved * repeated / bandwidth_of(max(source, beyond), machine) / near.repeats
    around = everything + near.bytes
    warm = moved * repeated / kept_bandwidth(around, machine) * (1 - 1 / near.repeats)
    return again, cold + warm, cold + (warm if around >= beyond else 0.0)


def _read_again(
    access: Access, touched: Sequence[float], traffic: Traffic
) -> tuple[float, float, float]:
    """Cycles of reading again, the bytes that come first, and how often they do.

    What an iteration shares with the one before (rows of a sliding window) comes from the cache
    that holds an iteration, and costs its loads alone in the first one; where windows are used
    several times, arithmetic hides that.
    """
    machine, slides = traffic.machine, bool(traffic.tile.analysis.beside_windows)
    everything, working_sets = access.all_bytes, traffic.working_sets
    moved, again, repeated, reused = touched[0], 0.0, 1.0, False
    exposed = 1.0 if everything <= machine.memories[1].bytes else _exposed_rereads(machine)
    for depth, (axis, count) in enumerate(traffic.loops):
        depends = access.depends_on(axis)
        is_kept = slides and working_sets[depth] <= machine.memories[0].bytes
        if reused:
            repeated *= 1 if is_kept and not depends else count
        elif depends or count == 1:
            moved, again = moved * count, again * count
            if slides and moved > touched[depth + 1]:
                shared = 0.0 if is_kept else exposed * (moved - touched[depth + 1])
                again += shared / bandwidth_of(working_sets[depth], machine)
                moved = touched[depth + 1]
        else:
            reused = True
            again += moved * (count - 1) / bandwidth_of(working_sets[depth], machine)
    if access.form is not None and not slides:
        moved = min(moved, float(everything))  # the last tile is a part of one
    return again * repeated, moved, repeated


def _exposed_rereads(machine: Machine) -> float:
    """The share of reading rows again that transfers from the third cache do not hide."""
    second, third = machine.memories[1:3]
    return min(max(machine.coefficients.exposed_rereads, third.rate / second.rate), 1.0)


def stored_cycles(analysis: NestAnalysis, machine: Machine) -> float:
    """What storing the result takes, whatever the choice: its lines are read, and written back."""
    is_near = analysis.nest.target in analysis.near.tensors
    bandwidth = kept_bandwidth if is_near else bandwidth_of
    return 2 * analysis.stored / bandwidth(analysis.stored_around, machine)


def bandwidth_of(working_set: float, machine: Machine) -> float:
    """Bytes a cycle from the smallest cache that holds a working set."""
    for memory in machine.memories:
        if working_set <= memory.bytes:
            return memory.rate
    return machine.main.rate


def kept_bandwidth(working_set: float, machine: Machine) -> float:
    """The same for what was just touched: of up to twice a cache's bytes a part is still there."""
    for memory, following in pairwise(machine.memories):
        if working_set < 2 * memory.bytes:
            missing = max(0.0, working_set / memory.bytes - 1)
            return 1 / ((1 - missing) / memory.rate + missing / following.rate)
    return machine.main.rate
