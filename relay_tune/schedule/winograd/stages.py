"""Convolution by Winograd's filtering: one stage becomes three, of ordinary expressions.

    before:  y[n, h, w, o] = sum(kh, kw, c) x[n, h + kh, w + kw, c] * g[kh, kw, c, o]
    after:   v[block, k, tile, c] = B^T d B         of the window d that the tile (ty, tx) reads
             t[block, k, tile, o] = sum(c) v[block, k, tile, c] * u[k, c, o]
             y[n, h, w, o] = A^T t A                at h = m * ty + r, w = m * tx + s

k counts the elements of a window; u is computed from the taps when the program is planned. All
tiles are one block unless `tiles` says how many a block has (see `blocks`). The sum has
9 / ((m + 2) / m)^2 times fewer multiplications: 2.25 for m = 2, 4 for m = 4, where the result
differs from the direct one by about 1e-5 of the largest element. A NaN or an infinity in a window
spoils the whole tile.

A convolution over volumes is filtered in its last two dimensions, and summed over the taps of the
others: with d among the places of v and t, t[.., d, .., o] = sum(kd, c) v[.., d + kd, ..] u[k, kd].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from relay_tune.op.lower import TensorProgram
from relay_tune.schedule.machine import LINE_ELEMENTS
from relay_tune.schedule.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.winograd.blocks import TileBlocks, tile_bands
from relay_tune.schedule.winograd.match import Convolution, match_convolution
from relay_tune.schedule.winograd.transforms import FILTERINGS, Filtering, transformed_taps
from relay_tune.schedule.written_windows import written_out
from relay_tune.tensor.element_at import element_at
from relay_tune.tensor.expression import (
    Axis,
    Reduce,
    Scalar,
    Tensor,
    binary,
    reduce,
    select,
)
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.tensor.walk import substitute

ALIASED_BYTES = 2048
"""Lines at multiples of this have two places in a first cache of 64 sets."""


def winograd_program(
    program: TensorProgram, outputs: int, tiles: int | None = None
) -> TensorProgram | None:
    """The program with its 3 x 3 convolutions computed in tiles of `outputs` x `outputs`.

    Where blocks of so many `tiles` divide a convolution, it is computed in them. Windows of the
    results that lie side by side in tiles are reduced there (see `written_windows`). None where
    there is no such convolution with constant taps and enough channels.
    """
    elementwise: set[Tensor] = set()

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed:
        new = _filtered(stage, rewriting, outputs, tiles)
        if new is None:
            new = written_out(rewriting.rebuilt(stage), elementwise, outputs)
        if new is not stage and not isinstance(new.body, Reduce):
            elementwise.add(new)
        return new

    return with_rewritten_stages(program, rewrite)


def _filtered(
    stage: Computed, rewriting: Rewriting, outputs: int, tiles: int | None
) -> Computed | None:
    """The convolution that a stage computes, in tiles; None if it is none."""
    found = match_convolution(stage, rewriting.constants)
    filtering = None if found is None else FILTERINGS.get((outputs, found.stride))
    if found is None or filtering is None:
        return None
    taps = transformed_taps(filtering, found.taps(rewriting.constants))
    constant = rewriting.constant(f"{found.weight.tensor.name}_taps", taps)
    return _stages(found, rewriting.now(found.data), constant, filtering, tiles)


Result = Callable[[Scalar, Sequence[Scalar], Scalar, Scalar, Scalar], Scalar]
"""The element of a result at an image, places between the batch and the rows, a row, a column and
an output channel."""


def _stages(
    convolution: Convolution, data: Tensor, taps: Tensor, filtering: Filtering, tiles: int | None
) -> Computed:
    """The result of a convolution, by way of the transformed data and the products."""
    bands = tile_bands(convolution, filtering, tiles)
    *upper, last = [(band, _band(convolution, data, taps, filtering, band)) for band in bands]

    def result(n: Scalar, *at: Scalar) -> Scalar:
        *depth, h, w, o = at
        value = last[1](n, depth, h, w, o)
        for band, element in reversed(upper):
            inside = binary("lt", h, band.end[0] * filtering.outputs)
            value = select(inside, element(n, depth, h, w, o), value)
        return value

    return compute(convolution.stage.name, convolution.stage.shape, result)


def _band(
    convolution: Convolution, data: Tensor, taps: Tensor, filtering: Filtering, blocks: TileBlocks
) -> Result:
    """The result of a band of rows of tiles."""
    size, depths = filtering.outputs, convolution.depths
    inputs, outputs = taps.shape[-2:]
    plane_bytes = prod(blocks.counts) * prod(depths[0]) * inputs * 4
    stored = inputs + (_spare_channels(plane_bytes) if blocks.block == blocks.counts else 0)

    def element(*at: Scalar) -> Scalar:
        k, image, depth, c = at[3], at[4], at[5:-3], at[-1]
        tile = blocks.tile(at[:3], (image, *at[-3:-1]))
        value = _transformed_data(filtering, data, k, (tile, blocks.end), depth, c)
        return select(binary("lt", c, inputs), value, 0.0)

    def shape(depth: Sequence[int], channels: int) -> list[int]:
        images, *tile = blocks.block
        return [*blocks.blocks, filtering.window**2, images, *depth, *tile, channels]

    transformed = compute("winograd_data", shape(depths[0], stored), element)
    summed = [Axis(axis.name, axis.extent) for axis in convolution.tap_axes[2:]]
    renamed: dict[Axis, Scalar] = dict(zip(convolution.tap_axes[2:], summed, strict=True))

    def product(*at: Scalar) -> Scalar:
        places = dict(zip(convolution.stage.axes[1:-3], at[5:-3], strict=True))
        depth = [substitute(index, {**renamed, **places}) for index in convolution.slices]
        read = transformed[(*at[:5], *depth, *at[-3:-1], summed[-1])]
        return reduce("sum", summed, read * taps[(at[3], *summed, at[-1])])

    products = compute("winograd_products", shape(depths[1], outputs), product)

    def result(n: Scalar, depth: Sequence[Scalar], h: Scalar, w: Scalar, o: Scalar) -> Scalar:
        outer, (image, *tile) = blocks.place((n, h // size, w // size))
        inner = (image, *depth, *tile, o)
        return _result(filtering, lambda k: products[(*outer, k, *inner)], (h % size, w % size))

    return result


def _spare_channels(plane_bytes: int) -> int:
    """Channels to add to the transformed data so that its planes do not share cache sets.

    A tile writes one line to each plane; where the planes are whole pages apart, all these lines
    want the same few places of the first cache.
    """
    return LINE_ELEMENTS if plane_bytes % ALIASED_BYTES == 0 else 0


def _transformed_data(
    filtering: Filtering,
    data: Tensor,
    k: Scalar,
    tile: tuple[Sequence[Scalar], tuple[int, int]],
    depth: Sequence[Scalar],
    c: Scalar,
) -> Scalar:
    """Element k of B^T d B; what a window reads beyond the data is zero.

    `tile` is an image, a row and a column of tiles, and those where rows and columns end.
    """
    (n, ty, tx), (end_row, end_column) = tile
    window = filtering.window
    rows, in_rows = _window_places(filtering, ty, end_row, data.shape[-3])
    columns, in_columns = _window_places(filtering, tx, end_column, data.shape[-2])

    def load(row: int, column: int) -> Scalar:
        value: Scalar = data[(n, *depth, rows[row], columns[column], c)]
        for inside in (in_columns[column], in_rows[row]):
            value = value if inside is None else select(inside, value, 0.0)
        return value

    return _two_passes(filtering.data, load, window, (k // window, k % window))


def _window_places(
    filtering: Filtering, tile: Scalar, end: int, extent: int
) -> tuple[list[Scalar], list[Scalar | None]]:
    """What the window of a tile before `end` reads on an axis, and where that is inside.

    None: everywhere.
    """
    step = filtering.outputs * filtering.stride
    places = [tile * step + place for place in range(filtering.window)]
    last = (end - 1) * step
    inside = [
        None if last + place < extent else binary("lt", index, extent)
        for place, index in enumerate(places)
    ]
    return places, inside


def _result(
    filtering: Filtering, product: Callable[[int], Scalar], at: tuple[Scalar, Scalar]
) -> Scalar:
    """The element of A^T t A at a row and column of the tile whose products are given."""
    window = filtering.window

    def load(row: int, column: int) -> Scalar:
        return product(row * window + column)

    return _two_passes(filtering.result, load, window, at)


def _two_passes(
    rows: Callable[[Sequence[Scalar]], list[Scalar]],
    element: Callable[[int, int], Scalar],
    window: int,
    at: tuple[Scalar, Scalar],
) -> Scalar:
    """Element `at` of R e R^T for the linear map R that `rows` writes out."""
    columns = []
    for column in range(window):
        down = rows([element(row, column) for row in range(window)])
        columns.append(element_at(down, at[0]))
    return element_at(rows(columns), at[1])
