"""The loops around a register tile: over the tiles of each axis, and over blocks of them.

With blocks on an axis, what the tiles of one block read stays in a cache while the other axes run:

    for i_b in blocks of rows                the block of a fits into the second cache
      for j_t in tiles of columns            the panel of b into the first
        for i_t in tiles of rows of the block
          y[tile] = sum(k) a[i, k] * b[k, j]

This is the blocking of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
(ACM TOMS 2008), section 4, for any nest.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.size import ceiling_quotient, is_symbolic, nominal

REMEMBERED = 1 << 12
"""Loops that are kept: several parts of an estimate ask for those of a choice."""


@dataclass(frozen=True, slots=True)
class OuterLoop:
    """One loop outside the register tile.

    Attributes:
        place: the position of its axis in the nest.
        count: how often it runs.
        tiles: how many tiles of the axis one iteration covers; more than one for blocks.
        is_ragged: whether the last block has fewer tiles than the others.
    """

    place: int
    count: int
    tiles: int
    is_ragged: bool = False


def outer_loops(axes: Sequence[Axis], choice: TileChoice) -> tuple[OuterLoop, ...]:
    """The loops of a choice, outermost first: blocks, then tiles, both in the choice's order.

    Blocks of one tile are tiles, but stand among the blocks. Those of an open axis have as many
    tiles as in the example.
    """
    return _outer_loops(tuple(axes), choice.tile, choice.order, choice.blocks)


@remembered(REMEMBERED)
def _outer_loops(
    axes: tuple[Axis, ...], tile: Sequence[int], order: Sequence[int], in_blocks: Sequence[int]
) -> tuple[OuterLoop, ...]:
    over_blocks: list[OuterLoop] = []
    over_tiles: list[OuterLoop] = []
    for position in order:
        tiles = ceiling_quotient(axes[position].extent, tile[position])
        example = nominal(tiles)
        in_block = -(-example // in_blocks[position])
        blocks = ceiling_quotient(tiles, in_block) if example > in_block else 1
        if blocks == 1:
            over_tiles.append(OuterLoop(position, tiles, 1))
            continue
        if in_block == 1:
            over_blocks.append(OuterLoop(position, tiles, 1))
            continue
        is_ragged = is_symbolic(tiles) or tiles % in_block != 0
        over_blocks.append(OuterLoop(position, blocks, in_block, is_ragged))
        over_tiles.append(OuterLoop(position, in_block, 1, is_ragged))
    return (*over_blocks, *over_tiles)
