"""Blocks of tiles: how much of a convolution Winograd's filtering takes at a time.

The transformed data of a whole image outgrow L2. With blocks, the three stages run for some
tiles, then for the next ones, and what they leave each other stays where it is:

    v[block, k, tile, c], t[block, k, tile, o]     a block is a row of the groups of nests

A block is a part of a row of tiles, or some whole rows; of a volume, that part of all its slices.
Of images of few tiles it is some whole images.
The counts of tiles divide those of the image, so that all blocks are alike. Where the last row of
tiles reaches beyond the image, it is a band of its own below the blocks of the others: each block
stores the same rows of each tile. With a dilation that is the last period, a row for each phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.winograd.match import Convolution
from relay_tune.schedule.rewrites.winograd.transforms import Filtering, PlaneFiltering
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES
from relay_tune.tensor.expression import INDEX, Scalar, binary, literal
from relay_tune.tensor.size import ceiling_quotient, is_symbolic, nominal

LEAST_TILES, MOST_TILES = 12, 40
"""Fewer tiles, of all slices, fill no register tile twice; more do not fit in L2.

Measured with 64 to 128 channels: blocks of 14, 28 and 56 tiles differ by 5 %.
"""

MOST_PRODUCTS = 40 * 36
"""Where no block is smaller, so many products of tiles at most.

8 images of 14x14 to 28x28, 128 to 64 channels, transposed, on Zen 4: 3.1 ms in one block, 1.6 in
blocks of 49 tiles with 25 products each, 2.3 without tiles."""

FAR_BYTES = 2 << 20
"""Transformed data of so many bytes come from LLC or DRAM, if they are not of a block.

Of 5.6 MB one line after the other is waited for, though they are read once: the products took 2.3
ms in place of 1.5. Taps of more bytes may cost more, as each block reads them."""

MOST_COUNTS = 2
"""How many counts of tiles are tried; the larger ones reuse more of the weights."""

RUNS = (24, 12)
"""The tiles of runs, which no count of tiles has to be a multiple of; the first that fits is tried.

With 48 channels the estimates of both differ by 1 %, and each is one more plan for a build."""

MOST_RUN_WEIGHTS = 3 << 20
"""Bytes of transformed weights that runs may read again and again.

The runs of an example are few, those of an image may be many: where weights leave the second cache
far behind, as with 192 channels, all tiles are one block.
"""

Tile = tuple[int, int, int]
"""A number of images, of rows, and of columns of tiles."""


@dataclass(frozen=True, eq=False, slots=True)
class TileElement:
    """An element of the transformed data, or of the products.

    Attributes:
        tile: its image, row and column of tiles.
        product: its number among those of the tile.
        depth: its positions between the batch and the rows.
        channel: its channel.
    """

    tile: Sequence[Scalar]
    product: Scalar
    depth: Sequence[Scalar]
    channel: Scalar


@dataclass(frozen=True, slots=True)
class TileBlocks:
    """How a band of rows of tiles is divided.

    Attributes:
        counts: the images, rows and columns of tiles in the band.
        block: those of one block.
        first: the band's first row of tiles.
    """

    counts: Tile
    block: Tile
    first: int = 0

    @property
    def blocks(self) -> Tile:
        """How many blocks there are along images, rows and columns."""
        images, rows, columns = (
            count // extent for count, extent in zip(self.counts, self.block, strict=True)
        )
        return images, rows, columns

    @property
    def end(self) -> tuple[int, int]:
        """The row below the band's last one and the column behind the last one."""
        return self.first + self.counts[1], self.counts[2]

    def shape(self, products: int, depth: Sequence[int], channels: int) -> list[int]:
        """That of a tensor with an element for each product: [block, k, image, d, tile, c]."""
        images, *tile = self.block
        return [*self.blocks, products, images, *depth, *tile, channels]

    def element(self, index: Sequence[Scalar]) -> TileElement:
        """The element that an index of such a tensor stands for."""
        outer, inner = index[:3], (index[4], *index[-3:-1])
        image, row, column = (o * n + i for o, i, n in zip(outer, inner, self.block, strict=True))
        return TileElement((image, row + self.first, column), index[3], index[5:-3], index[-1])

    def index(self, element: TileElement) -> list[Scalar]:
        """Where an element lies in such a tensor."""
        image, row, column = element.tile
        within = (image, row - self.first, column)
        if self.block == self.counts:
            outer: list[Scalar] = [literal(0, INDEX)] * len(within)
            inner = list(within)
        else:
            outer = [at // n for at, n in zip(within, self.block, strict=True)]
            inner = [at % n for at, n in zip(within, self.block, strict=True)]
        return [*outer, element.product, inner[0], *element.depth, *inner[1:], element.channel]

    def beside(
        self, index: Sequence[Scalar], depth: Sequence[Scalar], channel: Scalar
    ) -> list[Scalar]:
        """The index of another channel, at other positions between batch and rows, of the tile."""
        return [*index[:5], *depth, *index[-3:-1], channel]


@dataclass(frozen=True, slots=True)
class TileRuns:
    """Tiles one after the other, whatever their counts: runs of them are blocks of rows.

    Attributes:
        counts: the images, rows and columns of tiles.
    """

    counts: Tile

    @property
    def end(self) -> tuple[int, int]:
        """The row below the last one and the column behind the last one."""
        return self.counts[1], self.counts[2]

    def shape(self, products: int, depth: Sequence[int], channels: int) -> list[int]:
        """That of a tensor with an element for each product: [tile, k, d, c]."""
        return [prod(self.counts), products, *depth, channels]

    def element(self, index: Sequence[Scalar]) -> TileElement:
        """The element that an index of such a tensor stands for.

        The minimum changes nothing: it keeps the axis of tiles from being split into rows and
        columns, which runs go beyond.
        """
        _, rows, columns = self.counts
        tile = binary("min", index[0], prod(self.counts) - 1)
        position = tile // columns, tile % columns
        row = position[0] if self.counts[0] == 1 else position[0] % rows
        image = literal(0, INDEX) if self.counts[0] == 1 else position[0] // rows
        return TileElement((image, row, position[1]), index[1], index[2:-1], index[-1])

    def index(self, element: TileElement) -> list[Scalar]:
        """Where an element lies in such a tensor."""
        image, row, column = element.tile
        _, rows, columns = self.counts
        tile = (image * rows + row) * columns + column
        return [tile, element.product, *element.depth, element.channel]

    def beside(
        self, index: Sequence[Scalar], depth: Sequence[Scalar], channel: Scalar
    ) -> list[Scalar]:
        """The index of another channel, at other positions between batch and rows, of the tile."""
        return [*index[:2], *depth, channel]


def tile_bands(
    convolution: Convolution, filtering: PlaneFiltering, tiles: int | None
) -> tuple[TileBlocks, ...]:
    """Blocks of so many tiles, and a band for the rest where the last row is not whole.

    A single block if `tiles` is None or no blocks have so many.
    """
    counts = _counts(convolution, filtering)
    if any(map(is_symbolic, counts[1:])):
        return (TileBlocks(counts, counts),)
    block = None if tiles is None else dict(_shapes(convolution, filtering)).get(tiles)
    if block is None:
        return (TileBlocks(counts, counts),)
    images, rows, columns = counts
    whole = _whole(convolution, filtering)[0]
    blocks = TileBlocks((images, whole, columns), block)
    if whole == rows:
        return (blocks,)
    last = (1, min(block[1], rows - whole), columns)
    return blocks, TileBlocks((images, rows - whole, columns), last, whole)


def tile_runs(convolution: Convolution, filtering: PlaneFiltering) -> TileRuns:
    """All tiles one after the other."""
    return TileRuns(_counts(convolution, filtering))


def run_lengths(convolution: Convolution, filtering: PlaneFiltering) -> list[int]:
    """The tiles of the run that is worth a look.

    Where height or width is dynamic, and where no block divides tiles that are too many for one.
    """
    is_open = any(map(is_symbolic, convolution.image[1:]))
    if not is_open and (tile_counts(convolution, filtering) or not is_far(convolution, filtering)):
        return []
    if prod(convolution.taps_shape[2:]) * filtering.products * 4 > MOST_RUN_WEIGHTS:
        return []
    bytes_ = prod(convolution.depths[0]) * convolution.data.shape[-1] * filtering.products * 4
    return [tiles for tiles in RUNS if tiles * bytes_ <= MAXIMUM_LOCAL_BYTES][:1]


def tile_counts(convolution: Convolution, filtering: PlaneFiltering) -> list[int]:
    """The tiles of the blocks that are worth a look, the largest first."""
    if any(map(is_symbolic, convolution.image[1:])):
        return []
    read, written = map(prod, convolution.depths)
    values = read * convolution.data.shape[-1] + written * convolution.stage.shape[-1]
    fitting = [
        (tiles, shape[0])
        for tiles, shape in _shapes(convolution, filtering)
        if tiles * written >= LEAST_TILES
        and tiles * filtering.products * values * 4 <= MAXIMUM_LOCAL_BYTES
    ]
    of_image = [tiles for tiles, images in fitting if images == 1 and tiles * written <= MOST_TILES]
    if of_image:
        return sorted(of_image, reverse=True)[:MOST_COUNTS]
    return sorted(
        tiles for tiles, _ in fitting if tiles * written * filtering.products <= MOST_PRODUCTS
    )[:1]


def is_far(convolution: Convolution, filtering: PlaneFiltering) -> bool:
    """Whether the transformed data of all tiles are too many for the caches, unlike the taps.

    Those of the example where sizes are open.
    """
    shape = convolution.taps_shape
    tiles = nominal(prod(_counts(convolution, filtering)))
    data = tiles * prod(convolution.depths[0]) * shape[-2]
    bytes_of_data = filtering.products * data * 4
    return bytes_of_data >= max(FAR_BYTES, filtering.products * prod(shape[2:]) * 4)


def _shapes(convolution: Convolution, filtering: PlaneFiltering) -> Iterator[tuple[int, Tile]]:
    """Tiles and shape of each block that divides the whole rows of tiles, or the images.

    Parts of a row are blocks only where no tile of it reaches beyond the image, images only where
    none of theirs does.
    """
    images, rows, columns = _counts(convolution, filtering)
    whole, complete = _whole(convolution, filtering)
    down, right = convolution.dilations
    if whole == 0:
        return
    for part in range(1, columns if complete == columns else 1):
        if columns % part == 0 and _keeps_phases(part, right):
            yield part, (1, 1, part)
    for part in range(1, whole + 1):
        if whole % part == 0 and _keeps_phases(part, down) and (part < whole or images != 1):
            yield part * columns, (1, part, columns)
    if whole == rows and complete == columns and not is_symbolic(images):
        for part in range(2, images):
            if images % part == 0:
                yield part * rows * columns, (part, rows, columns)


def _keeps_phases(part: int, dilation: int) -> bool:
    """Whether so many tiles are some phases of a period, or some periods."""
    return part % dilation == 0 or dilation % part == 0


def _counts(convolution: Convolution, filtering: PlaneFiltering) -> Tile:
    images, *extents = convolution.image
    rows, columns = (
        ceiling_quotient(extent, along.outputs * dilation) * dilation
        for extent, along, dilation in _dimensions(convolution, filtering, extents)
    )
    return images, rows, columns


def _whole(convolution: Convolution, filtering: PlaneFiltering) -> tuple[int, int]:
    """The rows and columns of tiles that do not reach beyond the image."""
    rows, columns = (
        extent // (along.outputs * dilation) * dilation
        for extent, along, dilation in _dimensions(convolution, filtering, convolution.image[1:])
    )
    return rows, columns


def _dimensions(
    convolution: Convolution, filtering: PlaneFiltering, extents: Sequence[int]
) -> Iterator[tuple[int, Filtering, int]]:
    """Extent, filtering and dilation of the rows, and those of the columns."""
    along = filtering.rows, filtering.columns
    return zip(extents, along, convolution.dilations, strict=True)
