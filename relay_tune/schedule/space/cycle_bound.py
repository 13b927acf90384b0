"""A lower bound of what the estimate of a plan can be, found without looking for its schedule.

An algorithm whose bound is not below the estimate of another need not be tried: direct convolutions
beside Winograd's, transformed data of a whole image beside those of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relay_tune.machine.machine import Machine
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.estimate import overlapped
from relay_tune.schedule.cost.operand import stored_cycles
from relay_tune.schedule.intrinsics.cost import least_tile_cycles
from relay_tune.schedule.space.space import NestSpace
from relay_tune.schedule.space.vector_axes import most_lanes


def least_cycles(spaces: Sequence[NestSpace], machine: Machine) -> float:
    """Cycles of one core that no choice of the spaces goes below."""
    return sum(max(space.repeats, 1) * _least_of_nest(space.analysis, machine) for space in spaces)


def _least_of_nest(analysis: NestAnalysis, machine: Machine) -> float:
    """All lanes full, all operands in registers, and what is stored."""
    nest = analysis.nest
    outputs = prod(axis.extent for axis in nest.axes)
    operations = outputs * analysis.result_operations
    if nest.body is not None:
        if analysis.match is not None:
            return least_tile_cycles(analysis.match, machine)
        operations += nest.points * analysis.body_operations
    arithmetic = operations / most_lanes(analysis, machine) / machine.vectors.fused_per_cycle
    return overlapped(arithmetic, stored_cycles(analysis, machine), machine)
