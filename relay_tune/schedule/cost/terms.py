"""The terms of what memory costs: short functions of a nest's traffic, each with a coefficient.

    hidden  = sum(operands) slower * (again + slower past L2 * first) + stored + lines / rate
    exposed = sum(operands, terms) coefficient * amount + a wait of each tile

`hidden` runs beside arithmetic; nothing hides what is `exposed`. An amount is in cycles, and says
nothing of a processor but what its caches hold and how fast they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from operator import attrgetter

from relay_tune.machine.machine import LINE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.cost.cache_sets import (
    crowded_bytes,
    jumps,
    refetched_bytes,
    reloaded_bytes,
)
from relay_tune.schedule.cost.operand import Operand, bandwidth_of, operands, stored_cycles
from relay_tune.schedule.cost.rows import torn_bytes
from relay_tune.schedule.cost.tile import Tile
from relay_tune.schedule.cost.traffic import Traffic
from relay_tune.schedule.cost.weights import (
    arrival,
    awaited_arrival,
    late_cycles,
    swept_cycles,
    unasked_transfer,
    unfollowed_cycles,
)

REMEMBERED = 1 << 12


@dataclass(frozen=True, slots=True)
class Term:
    """Cycles that nothing hides, for each operand: a coefficient times an amount.

    Attributes:
        amount: cycles of an operand.
        coefficient: the name of what they are multiplied with; none where an amount is all.
    """

    amount: Callable[[Operand], float]
    coefficient: str | None = None

    def cycles(self, operand: Operand) -> float:
        """What the term adds for an operand."""
        amount = self.amount(operand)
        if not amount or self.coefficient is None:
            return amount
        factor: float = getattr(operand.traffic.machine.coefficients, self.coefficient)
        return factor * amount


def _asked_for(operand: Operand) -> float:
    """What comes because tiles ask for it early."""
    return operand.waited if operand.is_fetched else 0.0


def _unhidden(operand: Operand) -> float:
    """What the arithmetic of the first of several tiles leaves of a transfer from LLC or DRAM.

    Those that read the same later find all that the first one has fetched.
    """
    traffic, access = operand.traffic, operand.access
    if operand.is_fetched or traffic.in_parts or access.is_near or access.form is None:
        return 0.0
    if access not in traffic.tile.analysis.body_accesses:
        return 0.0
    if not any(n > 1 and not access.form.coefficient(axis) for axis, n in traffic.loops):
        return 0.0
    time = operand.in_tile / bandwidth_of(access.all_bytes, traffic.machine)
    return operand.first * max(1.0 - traffic.tile.arithmetic / time, 0.0) if time else 0.0


def _awaited_rows(operand: Operand) -> float:
    """What the first of several tiles reads from memory; those behind it read the same near.

    Processors fetch ahead of what a core reads. While it reads what is near they fetch nothing, so
    that each first tile waits again, however much arithmetic it has.
    """
    traffic, access = operand.traffic, operand.access
    if operand.is_fetched or traffic.in_parts is not None or access.is_near:
        return 0.0
    if (
        not operand.is_far
        or access.form is None
        or access not in traffic.tile.analysis.body_accesses
    ):
        return 0.0
    innermost = next((axis for axis, n in traffic.loops if n > 1), None)
    is_again = innermost is not None and not access.form.coefficient(innermost)
    return operand.first if is_again else 0.0


def _torn(operand: Operand) -> float:
    """What comes from memory in lines of which each tile reads a few columns, a step at a time.

    Nothing follows such accesses, and nothing asks for them but the tiles of the part before, where
    these do.
    """
    traffic, access = operand.traffic, operand.access
    form = access.form
    if traffic.in_parts is not False or not operand.is_far or form is None or access.is_near:
        return 0.0
    if access not in traffic.tile.analysis.body_accesses:
        return 0.0
    columns = (n for axis, n in traffic.tile.extents.items() if form.coefficient(axis) == 1)
    width = next(columns, None)
    return 0.0 if width is None or width * access.bytes >= LINE_BYTES else operand.first


def _streamed(operand: Operand) -> float:
    """What tiles read where their own data outgrow L2: all comes from LLC or DRAM each time.

    Sums over 8,192 to 100,000 pixels took twice to six times the time of their arithmetic. From
    half of the cache on a part is lost. What is read once comes from there anyway.
    """
    traffic = operand.traffic
    if operand.access.is_near or traffic.tile.analysis.is_read_once(operand.access):
        return 0.0
    accesses = traffic.tile.analysis.accesses
    among = zip(accesses, traffic.touched[0], strict=True)
    data = (n for a, n in among if not (a.constant or a.is_near))
    share = 2 * sum(data) / traffic.machine.memories[1].bytes - 1
    return min(max(share, 0.0), 1.0) * operand.hidden


def _refetched(operand: Operand) -> float:
    """Lines that each tile fetches again, since its steps read rows that lie apart."""
    tile = operand.traffic.tile
    if operand.access not in tile.analysis.body_accesses or not jumps(tile):
        return 0.0
    return refetched_bytes(operand.access, tile) / operand.traffic.machine.memories[1].rate


OF_DATA = (
    Term(attrgetter("exposed_part"), "exposed_parts"),
    Term(_asked_for, "prefetch"),
    Term(_unhidden),
    Term(_awaited_rows, "awaited_rows"),
    Term(_torn),
    Term(_streamed),
    Term(_refetched, "exposed_lines"),
)
"""What operands cost that are no constants."""

OF_WEIGHTS = (
    Term(_asked_for, "prefetch"),
    Term(late_cycles),
    Term(unasked_transfer, "exposed_weights"),
    Term(arrival, "unfetched_weights"),
    Term(awaited_arrival, "awaited_weights"),
    Term(swept_cycles, "swept_tile"),
    Term(unfollowed_cycles, "unfollowed"),
)
"""What constants cost."""

LINES: Sequence[Callable[[Tile], float]] = (torn_bytes, reloaded_bytes, crowded_bytes)
"""Bytes of lines that tiles fetch again, or want a part of."""


def memory_cycles(traffic: Traffic) -> tuple[float, float]:
    """Traffic beyond L1, and waiting that nothing hides."""
    *_, found = memory_from_below(traffic)
    return found


def memory_from_below(traffic: Traffic) -> Iterator[tuple[float, float]]:
    """The same in steps: each is no less than the one before, the last is all.

    What nothing hides, which takes longest to find, comes last.
    """
    analysis, machine = traffic.tile.analysis, traffic.machine
    stored = stored_cycles(analysis, machine)
    lines = _lines(traffic.tile) / machine.memories[1].rate
    for asked, among in analysis.near.asked_for:
        lines += asked / bandwidth_of(among, machine)
    read, hidden, exposed = [], 0.0, 0.0
    for operand in operands(traffic):
        read.append(operand)
        hidden += operand.hidden
        yield hidden + stored + lines, exposed
    for operand in read:
        terms = OF_WEIGHTS if operand.access.constant else OF_DATA
        exposed += sum([term.cycles(operand) for term in terms])
    if analysis.beside_windows:
        exposed += machine.coefficients.window_tile_wait * prod(n for _, n in traffic.loops)
    yield hidden + stored + lines, exposed


@remembered(REMEMBERED)
def _lines(tile: Tile) -> float:
    return sum(bytes_of(tile) for bytes_of in LINES)
