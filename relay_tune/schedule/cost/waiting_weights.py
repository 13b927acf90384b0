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

EXPOSED_SHARE = 0.5
"""How much of the transfer of weights no arithmetic hides, unless it is asked for early."""

PREFETCH_COST = 0.05
"""What asking for weights early costs, relative to their transfer."""

UNFETCHED_SHARE = 0.3
"""The part of the time in which weights come from memory that is only hidden by asking for them."""

WAIT_SHARE = 0.2
"""How much longer weights of a network take if nothing asks for them early, as a part of the time
in which they come from memory. What all of them take longer is charged by the plan.

Measured with 3x3 convolutions of 512 channels on 7x7 by Winograd's F(2x2), 16.8 MB of weights each:
1.1 ms if these lie in the third cache, 2.2 ms from memory, 1.4 ms from memory and fetched ahead.
"""


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
    arrival = access.elements * access.bytes / machine.main.rate / analysis.near.repeats
    if is_fetched:
        costs = None if analysis.match is None else analysis.match.costs(machine)
        if costs is not None:
            late = costs.unfetched * arrival
        else:
            late = late_cycles(analysis, choice, access, machine) / analysis.near.repeats
        return PREFETCH_COST * transfer + late
    points = prod(axis.extent for axis in (*analysis.nest.axes, *analysis.nest.reduction))
    streamed = is_streamed(points / access.elements)
    if streamed and is_far(access, machine):
        return 0.0
    share = UNFETCHED_SHARE + (0.0 if streamed else WAIT_SHARE)
    return EXPOSED_SHARE * transfer + share * arrival
