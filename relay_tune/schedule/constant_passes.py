"""How often a schedule reads the constants of its reductions.

    y[i, j] = sum(k) x[i, k] * W[j, k]      i < 8:     tile 8 x 48 reads W once, tile 4 x 96 twice

Where rows are few, that decides how long a product takes.
"""

from __future__ import annotations

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.walk import loads


def reads_constants_once(plan: Plan, schedule: Schedule) -> bool:
    """Whether no reduction reads an element of a constant for two tiles."""
    chosen = plan.allowing(schedule.algorithm).with_algorithm(schedule.algorithm)
    nests = zip(chosen.nests, chosen.repeats, schedule.choices, strict=True)
    return all(
        _tiles_over_constants(nest, choice, chosen.constants) * max(repeats, 1) == 1
        for nest, repeats, choice in nests
    )


def _tiles_over_constants(nest: Nest, choice: TileChoice, constants: frozenset[Tensor]) -> int:
    """How many tiles read the same element of a constant; 1 if there is none."""
    most = 1
    for load in () if nest.body is None else loads(nest.body):
        if not isinstance(load.tensor, FlatView) or load.tensor.viewed not in constants:
            continue
        form = axis_affine(load.indices[0])
        tiles = 1
        for axis, tile in zip(nest.axes, choice.tile, strict=True):
            if form is None or form.coefficient(axis) == 0:
                tiles *= -(-axis.extent // tile)
        most = max(most, tiles)
    return most
