"""A fixed-length description of a scheduled program, for a cost model to learn from.

The nest with the most estimated cycles is described in full, the second one in short, the others by
their sums. All values are finite; sizes enter as logarithms, so that doubling is one step
everywhere. What depends on the machine is told relative to it (bytes by the size of a cache, lanes
and registers by what there is), so that what was learned on one machine holds on another.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, prod

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.estimate import Estimate
from relay_tune.schedule.features.choice_features import FLOAT_BYTES, choice_values
from relay_tune.schedule.features.names import FEATURE_NAMES, GROUP_NAMES, SECOND_NAMES
from relay_tune.schedule.features.nest_features import axis_values, nest_values
from relay_tune.schedule.features.scales import log_share, log_size, operations_of
from relay_tune.schedule.space.space import NestSpace

TOTAL_CYCLES = FEATURE_NAMES.index("log_total_cycles")


def features(
    spaces: Sequence[NestSpace],
    choices: Sequence[TileChoice],
    estimates: Sequence[Estimate],
    fixed_cycles: float,
) -> list[float]:
    """The features of a program with one choice, and its estimate, for each of its nests.

    `spaces` are those of the program's plan; there must be at least one nest. `fixed_cycles` are
    estimated beside those of the nests.
    """
    ranked = sorted(range(len(spaces)), key=lambda position: -estimates[position].cycles)
    main = ranked[0]
    space, choice, found = spaces[main], choices[main], estimates[main]
    total = sum(estimate.cycles for estimate in estimates)
    others = total - found.cycles
    points = sum(other.analysis.nest.points for other in spaces) - space.analysis.nest.points
    values = [
        *nest_values(space),
        *axis_values(space.analysis, choice),
        *choice_values(space, choice),
        *_estimate_values(space, choice, found),
        *_group_values(space),
        *_second_values(spaces, choices, estimates, ranked),
        float(len(spaces)),
        log_size(others),
        others / total if total else 0.0,
        log_size(points),
        log_size(fixed_cycles),
        log_size(total + fixed_cycles),
    ]
    return [float(value) for value in values]


def estimated_throughput(described: Sequence[float]) -> float:
    """The natural logarithm of the runs in an estimated cycle, from the features of a schedule."""
    return -log(2.0) * described[TOTAL_CYCLES]


def _estimate_values(space: NestSpace, choice: TileChoice, found: Estimate) -> list[float]:
    operations = operations_of(space.analysis)
    return [
        log_size(found.cycles),
        log_size(found.compute_cycles),
        log_size(found.memory_cycles),
        log_size(found.memory_cycles / max(found.compute_cycles, 1e-9)),
        log_size(found.cycles * choice.lanes / max(operations, 1.0)),
        found.accumulators / space.registers,
        (found.registers - found.accumulators) / space.registers,
        max(0, found.registers - space.registers),
        found.wanted / space.registers,
        log_size(found.code),
        found.waste,
        found.loads_per_operation,
        log_size(found.tiles),
        log_size(operations / max(found.tiles, 1)),
    ]


def _group_values(space: NestSpace) -> list[float]:
    """How the nests around share a block of rows; zeros for a nest by itself."""
    if not space.repeats:
        return [0.0] * len(GROUP_NAMES)
    first, second, *_ = (memory.bytes for memory in space.machine.memories)
    return [
        log_size(space.repeats),
        log_share(space.analysis.near.bytes, first),
        log_share(space.analysis.near.bytes, second),
    ]


def _second_values(
    spaces: Sequence[NestSpace],
    choices: Sequence[TileChoice],
    estimates: Sequence[Estimate],
    ranked: Sequence[int],
) -> list[float]:
    """The nest with the second most estimated cycles; zeros if there is one nest only."""
    if len(ranked) < 2:
        return [0.0] * len(SECOND_NAMES)
    position = ranked[1]
    space, choice, found = spaces[position], choices[position], estimates[position]
    tile = choice.tile[choice.vector] if choice.vector >= 0 else choice.lanes
    return [
        found.cycles / max(estimates[ranked[0]].cycles, 1.0),
        choice.vector == -2,
        log_share(choice.lanes * FLOAT_BYTES, space.machine.vectors.bytes),
        -(-tile // choice.lanes),
        log_size(prod(choice.tile)),
        log_size(choice.unroll),
        log_size(found.tiles),
        found.loads_per_operation,
    ]
