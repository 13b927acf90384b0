"""What a tile on matrix registers takes, estimated in cycles."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod

from relay_tune.machine.machine import LINE_ELEMENTS
from relay_tune.schedule.intrinsics.match import NestProduct
from relay_tune.schedule.nest import Nest
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.matrix_registers import COLUMNS, ROWS, STEPS

LATENCY = 52 / 16
"""How much longer a result takes than a multiplication follows the one before."""

SEEN_AHEAD = 120
"""The multiplications among which a processor looks for those that wait for no other.

Measured with 64 channels on 56x56: tiles of one register, 54 multiplications each, are as quick as
those of four.
"""

REAL_OPERANDS = 1.5
"""How much longer multiplications take than when they are measured by themselves: the operands of
networks change more bits, for which processors slow their clock, and come from farther away."""

TORN_ROWS = 1.5
"""The same where rows do not begin with a line, so that each load reads two.

Measured with 7x7 taps on 3 channels: rows 12 bytes apart 1190 us, rows of whole lines 811.
"""

TILE_CYCLES = 60.0
"""The beginning and end of a tile, in which its registers are stored and read again."""


def least_product_cycles(nest: Nest, product: NestProduct, multiply: float | None) -> float:
    """What no tiles take less than together; without end where there are no matrix registers."""
    if multiply is None:
        return inf
    steps = nest.points / (ROWS * COLUMNS * STEPS)
    return REAL_OPERANDS * steps * len(product.terms) * multiply


def matrix_tile_cycles(
    nest: Nest,
    product: NestProduct,
    extents: Mapping[Axis, int],
    multiply: float,
    row_cycles: float,
) -> float:
    """The cycles of a tile of these extents.

    `multiply` are those of a multiplication with all rows, `row_cycles` those of a vector of the
    epilogue.
    """
    rows = extents[product.row]
    blocks = 1 if product.block is None else extents[product.block]
    registers = -(-rows // product.register_rows)
    own = (product.half, product.pair)
    steps = prod(axis.extent for axis in nest.reduction if axis not in own) * len(product.terms)
    results = registers * blocks
    independent = results * max(1.0, SEEN_AHEAD / (results * steps))
    torn = TORN_ROWS if product.stride % (LINE_ELEMENTS * 2) else 1.0
    busy = REAL_OPERANDS * torn * max(product.register_rows / ROWS, LATENCY / independent)
    return TILE_CYCLES + results * steps * busy * multiply + rows * blocks * row_cycles
