"""What a nest waits for weights of a network, which come from memory.

What no schedule hides of that is charged by the plan, the rest here.
"""

from __future__ import annotations

from math import prod

from relay_tune.machine.machine import Machine
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.analysis import Access, NestAnalysis
from relay_tune.schedule.cost.late_panels import late_cycles
from relay_tune.tensor.streamed import is_streamed


def is_far(access: Access, machine: Machine) -> bool:
    """Whether no cache holds an operand."""
    return access.elements * access.bytes > machine.last_cache.bytes


def waiting_cycles(
    analysis: NestAnalysis,
    choice: TileChoice,
    access: Access,
    transfer: float,
    machine: Machine,
    *,
    is_fetched: bool,
) -> float:
    """Cycles that a nest waits for a constant, whose `transfer` beside arithmetic is counted.

    Where no cache holds it and it is used too seldom for anything to hide that, its transfer from
    memory is all that the nest takes.
    """
    known = machine.coefficients
    arrival = access.elements * access.bytes / machine.main.rate / analysis.near.repeats
    if is_fetched:
        costs = None if analysis.match is None else analysis.match.costs(machine)
        if costs is not None:
            late = costs.unfetched * arrival
        else:
            late = late_cycles(analysis, choice, access, machine) / analysis.near.repeats
        return known.prefetch * transfer + late
    points = prod(axis.extent for axis in (*analysis.nest.axes, *analysis.nest.reduction))
    streamed = is_streamed(points / access.elements)
    if streamed and is_far(access, machine):
        return 0.0
    share = known.unfetched_weights + (0.0 if streamed else known.awaited_weights)
    return known.exposed_weights * transfer + share * arrival
