"""What threads read although others have written it, or read as well.

Each core has caches of its own. A part of a tensor that every thread reads comes to each of them;
and a result whose channels are divided among threads is exchanged when the next kernel wants whole
rows of it. Rows that stay with their thread come from its own cache.
"""

from __future__ import annotations

from relay_tune.machine.machine import Machine, MemoryScope
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.tensor.expression import Axis


def exchange_cycles(
    analysis: NestAnalysis, choice: TileChoice, machine: Machine, threads: int
) -> float:
    """Cycles of all threads together for what they read from each other, and all of them.

    Measured with mobilenet_v2 on two cores: 2.82 ms where products of few channels are divided by
    rows, 2.93 by channels.
    """
    if threads < 2 or not choice.parallel:
        return 0.0
    axis = _divided_axis(analysis, choice, threads)
    shared = sum(
        access.all_bytes
        for access in analysis.body_accesses
        if access.form is not None and not (axis and access.form.coefficient(axis))
    )
    if axis is not next((a for a in analysis.nest.axes if a.extent > 1), None):
        shared += analysis.stored
    far = next(each.rate for each in machine.memories if each.scope is not MemoryScope.CORE)
    return (threads - 1) * shared / far


def _divided_axis(analysis: NestAnalysis, choice: TileChoice, threads: int) -> Axis | None:
    """The axis whose parts go to different threads: of the first loop that has one for each."""
    loops = outer_loops(analysis.nest.axes, choice)[: choice.parallel]
    loop = next((loop for loop in loops if loop.count >= threads), None)
    return None if loop is None else analysis.nest.axes[loop.place]
