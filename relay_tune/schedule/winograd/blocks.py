"""Blocks of tiles: how much of a convolution Winograd's filtering takes at a time.

The transformed data of a whole image outgrow the near caches. With blocks, the three stages run for
some tiles, then for the next ones, and what they leave each other stays where it is:

    v[block, k, tile, c], t[block, k, tile, o]     a block is a row of the groups of nests

A block is a part of a row of tiles, or some whole rows; of a volume, that part of all its slices.
The counts of tiles divide those of the image, so that all blocks are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES
from relay_tune.schedule.winograd.match import Convolution
from relay_tune.schedule.winograd.transforms import Filtering
from relay_tune.tensor.expression import Scalar

LEAST_TILES, MOST_TILES = 12, 40
"""Fewer tiles, of all slices, fill no register tile twice; more have no place in near caches.

Measured with 64 to 128 channels: blocks of 14, 28 and 56 tiles differ by 5 %.
"""

MOST_COUNTS = 2
"""How many counts of tiles are tried; the larger ones reuse more of the weights."""

Tile = tuple[int, int, int]
"""A number of images, of rows, and of columns of tiles."""


@dataclass(frozen=True, slots=True)
class TileBlocks:
    """How the tiles of a convolution are divided.

    Attributes:
        counts: the images, rows and columns of tiles that there are.
        block: those of one block.
    """

    counts: Tile
    block: Tile

    @property
    def blocks(self) -> Tile:
        """How many blocks there are along images, rows and columns."""
        images, rows, columns = (
            count // extent for count, extent in zip(self.counts, self.block, strict=True)
        )
        return images, rows, columns

    def tile(self, outer: Sequence[Scalar], inner: Sequence[Scalar]) -> list[Scalar]:
        """The tile at a place within a block."""
        return [o * n + i for o, i, n in zip(outer, inner, self.block, strict=True)]

    def place(self, tile: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """The block of a tile, and its place within."""
        outer = [at // n for at, n in zip(tile, self.block, strict=True)]
        inner = [at % n for at, n in zip(tile, self.block, strict=True)]
        return outer, inner


def tile_blocks(convolution: Convolution, filtering: Filtering, tiles: int | None) -> TileBlocks:
    """Blocks of so many tiles; a single block if `tiles` is None or no blocks have so many."""
    counts = _counts(convolution, filtering)
    shapes = dict(_shapes(convolution, filtering))
    return TileBlocks(counts, counts if tiles is None else shapes.get(tiles, counts))


def tile_counts(convolution: Convolution, filtering: Filtering) -> list[int]:
    """The tiles of the blocks that are worth a look, the largest first."""
    read, written = map(prod, convolution.depths)
    values = read * convolution.data.shape[-1] + written * convolution.stage.shape[-1]
    found = sorted(
        (
            tiles
            for tiles, _ in _shapes(convolution, filtering)
            if LEAST_TILES <= tiles * written <= MOST_TILES
            and tiles * filtering.window**2 * values * 4 <= MAXIMUM_LOCAL_BYTES
        ),
        reverse=True,
    )
    return found[:MOST_COUNTS]


def _shapes(convolution: Convolution, filtering: Filtering) -> Iterator[tuple[int, Tile]]:
    """Tiles and shape of each block that divides the image; none where tiles reach beyond it."""
    if any(extent % filtering.outputs for extent in convolution.image[1:]):
        return
    images, rows, columns = _counts(convolution, filtering)
    for part in range(1, columns):
        if columns % part == 0:
            yield part, (1, 1, part)
    for part in range(1, rows + 1):
        if rows % part == 0 and (part < rows or images != 1):
            yield part * columns, (1, part, columns)


def _counts(convolution: Convolution, filtering: Filtering) -> Tile:
    images, rows, columns = convolution.image
    size = filtering.outputs
    return images, -(-rows // size), -(-columns // size)
