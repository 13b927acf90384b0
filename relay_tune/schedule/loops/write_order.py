"""The order in which the points of a register tile are written out.

A value that many points use stays in a register from its first use to its last. The operand with
the fewest values in the tile is kept for all of it, the values of the others follow each other:

    tile of 2 columns and 13 rows, y[j, i] += w[j, k] * x[k, i]
    for i, then j:  w0 w1 stay, x0, x1, .. come one by one              3 registers
    for j, then i:  x0 .. x12 stay for the second column               14 registers

A vector axis takes its turn like the others: 3 rows of 4 vectors need 12 registers for the results,
and 4 for operands if the elements of the rows stay, 5 if the vectors do.
"""

from __future__ import annotations

from math import prod

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.walk import loads


def write_order(nest: Nest, choice: TileChoice) -> tuple[Axis, ...]:
    """The axes of a nest, the slowest first: those that the smallest operand varies along last."""
    forms = [] if nest.body is None else [axis_affine(load.indices[0]) for load in loads(nest.body)]
    known = [form for form in forms if form is not None]
    if len(known) < 2:
        return nest.axes
    smallest = min(known, key=lambda form: _values(form, nest, choice))
    kept = [axis for axis in nest.axes if smallest.coefficient(axis)]
    return (*(axis for axis in nest.axes if axis not in kept), *kept)


def _values(form: Affine, nest: Nest, choice: TileChoice) -> int:
    """How many registers hold what an operand has in one tile."""
    tiles = zip(nest.axes, choice.tile, strict=True)
    return prod(
        -(-extent // choice.lanes) if position == choice.vector else extent
        for position, (axis, extent) in enumerate(tiles)
        if form.coefficient(axis)
    )
