"""How many outer loops of a nest are fused into the parallel one."""

from __future__ import annotations

from collections.abc import Collection

from relay_tune.machine.coefficients import Coefficients
from relay_tune.machine.machine import Machine
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.outer_loops import outer_loops

REMEMBERED = 2048


def with_parallel(
    analysis: NestAnalysis,
    choice: TileChoice,
    machine: Machine,
    threads: int,
    opened: Collection[int] = (),
) -> TileChoice:
    """The choice with enough outer loops fused into the parallel one; none for small nests.

    The number does not depend on `threads`, so that code runs well on any number of them. Loops
    over `opened` axes may run once: they share nothing then, which matters where one time is worth
    sharing.
    """
    known = machine.coefficients
    cycles = _least_cycles(analysis, max(choice.lanes, 1), known)
    if not choice.order or cycles < known.serial:
        return choice
    fused, chunks, perhaps = 0, 1, 1
    axes, carried = analysis.nest.axes, analysis.nest.carried
    for loop in outer_loops(axes, choice):
        shared = chunks if cycles >= known.serial * perhaps else chunks * perhaps
        if shared >= known.most_chunks or axes[loop.place] in carried:
            break
        if loop.place in opened:
            perhaps *= loop.count
        else:
            chunks *= loop.count
        fused += 1
    return choice.shared_by(fused) if fused else choice


@remembered(REMEMBERED)
def _least_cycles(analysis: NestAnalysis, lanes: int, known: Coefficients) -> float:
    """A rough bound, by arithmetic and by what is read."""
    operations = max(analysis.body_operations, analysis.result_operations, 1.0)
    accesses = analysis.accesses
    traffic = sum(access.all_bytes for access in accesses)
    return max(analysis.nest.points * operations / lanes, traffic / known.serial_rate)
