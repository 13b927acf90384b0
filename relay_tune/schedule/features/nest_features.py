"""What features say of a nest and its axes, most of it whatever the choice."""

from __future__ import annotations

from math import prod

from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.features.names import AXIS_NAMES, DESCRIBED_AXES
from relay_tune.schedule.features.scales import log_share, log_size, operations_of
from relay_tune.schedule.space.space import NestSpace
from relay_tune.tensor.expression import Axis

REMEMBERED = 2048
"""Values that depend on a nest alone; a search asks for them again and again."""


@remembered(REMEMBERED)
def nest_values(space: NestSpace) -> list[float]:
    """The features of NEST_NAMES."""
    analysis, nest = space.analysis, space.analysis.nest
    cache = space.machine.memories[1].bytes
    accesses = analysis.accesses
    outputs = prod(axis.extent for axis in nest.axes)
    read = sum(access.all_bytes for access in accesses)
    written = analysis.stored
    return [
        log_size(outputs),
        log_size(prod(axis.extent for axis in nest.reduction)),
        log_size(operations_of(analysis)),
        len(nest.axes),
        len(nest.reduction),
        analysis.body_operations,
        analysis.result_operations,
        analysis.store_bytes,
        len(analysis.body_accesses),
        len(analysis.result_accesses),
        sum(access.form is None for access in accesses),
        sum(access.constant for access in accesses),
        log_share(read, cache),
        log_share(sum(access.all_bytes for access in accesses if access.constant), cache),
        log_share(written, cache),
        log_size(operations_of(analysis) / max(read + written, 1)),
    ]


def axis_values(analysis: NestAnalysis, choice: TileChoice) -> list[float]:
    """The features of AXIS_NAMES, innermost axis as stored first; zeros where there are fewer."""
    values: list[float] = []
    nest = analysis.nest
    for position in range(len(nest.axes) - 1, len(nest.axes) - 1 - DESCRIBED_AXES, -1):
        if position < 0:
            values += [0.0] * (len(AXIS_NAMES) // DESCRIBED_AXES)
            continue
        axis, tile = nest.axes[position], choice.tile[position]
        values += [
            log_size(axis.extent),
            log_size(tile),
            log_size(-(-axis.extent // tile)),
            (axis.extent % tile) / tile,
            len(nest.axes) - choice.order.index(position),
            reusing_loads(analysis, axis),
        ]
    return values


@remembered(REMEMBERED)
def reusing_loads(analysis: NestAnalysis, axis: Axis) -> int:
    """How many loads of the body are the same all along an axis."""
    return sum(
        access.form is not None and access.form.coefficient(axis) == 0
        for access in analysis.body_accesses
    )
