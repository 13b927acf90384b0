"""Convolution by Winograd's filtering: one stage becomes three, of ordinary expressions.

    before:  y[n, h, w, o] = sum(kh, kw, c) x[n, h + kh, w + kw, c] * g[kh, kw, c, o]
    after:   v[block, k, tile, c] = B^T d B         of the window d that the tile (ty, tx) reads
             t[block, k, tile, o] = sum(c) v[block, k, tile, c] * u[k, c, o]
             y[n, h, w, o] = A^T t A                at h = m * ty + r, w = m * tx + s

k counts the elements of a window; u is computed from the taps when the program is planned. All
tiles are one block unless `tiles` says how many a block has (see `blocks`). The sum has
9 / ((m + 2) / m)^2 times fewer multiplications: 2.25 for m = 2, 4 for m = 4, where the result
differs from the direct one by some 1e-6 of the largest element. A NaN or an infinity in a window
spoils the whole tile.

A convolution over volumes is filtered in its last two dimensions, and summed over the taps of the
others: with d among the places of v and t, t[.., d, .., o] = sum(kd, c) v[.., d + kd, ..] u[k, kd].

Taps of the rows or of the columns alone, and those of one dimension, are filtered along that one: 6
products for each 12 with m = 4. Where taps lie d places apart, so do the places of a tile: the
image is filtered in d phases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from relay_tune.machine.machine import LINE_ELEMENTS
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.winograd.blocks import TileBlocks, tile_bands
from relay_tune.schedule.rewrites.winograd.match import Convolution, match_convolution
from relay_tune.schedule.rewrites.winograd.tile_elements import (
    tile_of,
    two_passes,
    window_of,
    with_whole_windows,
)
from relay_tune.schedule.rewrites.winograd.transforms import (
    PlaneFiltering,
    plane_filtering,
    transformed_taps,
)
from relay_tune.schedule.rewrites.winograd.written_windows import written_out
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Reduce,
    Scalar,
    Tensor,
    binary,
    literal,
    reduce,
    select,
)
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import Array
from relay_tune.tensor.tensor import Computed, compute, input_tensor
from relay_tune.tensor.walk import substitute

ALIASED_BYTES = 2048
"""Lines at multiples of this have two places in a first cache of 64 sets."""


def winograd_program(
    program: TensorProgram, outputs: int, tiles: int | None = None
) -> TensorProgram | None:
    """The program with its convolutions of three taps in tiles of `outputs` along each dimension.

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
    if found is None:
        return None
    filtering = plane_filtering(outputs, found.stride, found.tap_counts)
    if filtering is None:
        return None
    shape = (filtering.products, *found.taps_shape[2:])
    taps = input_tensor(f"{found.weight.tensor.name}_taps", shape, "float32")

    def transformed(arrays: Mapping[Tensor, Array]) -> Array:
        return transformed_taps(filtering, found.taps(arrays))

    constant = rewriting.constant(taps, (found.weight.tensor,), transformed)
    return _stages(found, rewriting.now(found.data), constant, filtering, tiles)


Result = Callable[[Scalar, Sequence[Scalar], Scalar, Scalar, Scalar], Scalar]
"""The element of a result at an image, places between the batch and the rows, a row, a column and
an output channel."""


def _stages(
    convolution: Convolution,
    data: Tensor,
    taps: Tensor,
    filtering: PlaneFiltering,
    tiles: int | None,
) -> Computed:
    """The result of a convolution, by way of the transformed data and the products."""
    bands = tile_bands(convolution, filtering, tiles)
    data = with_whole_windows(convolution, filtering, data, bands[-1].end)
    *upper, last = [(band, _band(convolution, data, taps, filtering, band)) for band in bands]

    def result(n: Scalar, *at: Scalar) -> Scalar:
        *depth, h, w, o = _in_plane(convolution, at)
        value = last[1](n, depth, h, w, o)
        for band, element in reversed(upper):
            inside = binary("lt", h, band.end[0] * filtering.rows.outputs)
            value = select(inside, element(n, depth, h, w, o), value)
        return value

    return compute(convolution.stage.name, convolution.stage.shape, result)


def _in_plane(convolution: Convolution, at: Sequence[Scalar]) -> Sequence[Scalar]:
    """The places of a result with a column behind the row; a line has one column."""
    return (at[0], literal(0, INDEX), at[1]) if convolution.is_line else at


def _band(
    convolution: Convolution,
    data: Tensor,
    taps: Tensor,
    filtering: PlaneFiltering,
    blocks: TileBlocks,
) -> Result:
    """The result of a band of rows of tiles."""
    depths = convolution.depths
    extents = filtering.rows.window, filtering.columns.window
    maps_of_data = filtering.rows.data, filtering.columns.data
    maps_of_result = filtering.rows.result, filtering.columns.result
    inputs, outputs = taps.shape[-2:]
    plane_bytes = prod(blocks.counts) * prod(depths[0]) * inputs * 4
    stored = inputs + (_spare_channels(plane_bytes) if blocks.block == blocks.counts else 0)

    def element(*at: Scalar) -> Scalar:
        k, image, depth, c = at[3], at[4], at[5:-3], at[-1]
        tile = blocks.tile(at[:3], (image, *at[-3:-1]))
        window = window_of(convolution, filtering, data, (tile, blocks.end), depth, c)
        value = two_passes(maps_of_data, window, extents, _row_and_column(k, extents))
        return select(binary("lt", c, inputs), value, 0.0)

    def shape(depth: Sequence[int], channels: int) -> list[int]:
        images, *tile = blocks.block
        return [*blocks.blocks, filtering.products, images, *depth, *tile, channels]

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
        row, down = tile_of(filtering.rows, h, convolution.dilations[0])
        column, right = tile_of(filtering.columns, w, convolution.dilations[1])
        outer, (image, *tile) = blocks.place((n, row, column))
        inner = (image, *depth, *tile, o)

        def of_window(row: int, column: int) -> Scalar:
            return products[(*outer, row * extents[1] + column, *inner)]

        return two_passes(maps_of_result, of_window, extents, (down, right))

    return result


def _row_and_column(k: Scalar, extents: tuple[int, int]) -> tuple[Scalar, Scalar]:
    """Where the k-th element of a transformed window lies in it."""
    if 1 in extents:
        first = literal(0, INDEX)
        return (first, k) if extents[0] == 1 else (k, first)
    return k // extents[1], k % extents[1]


def _spare_channels(plane_bytes: int) -> int:
    """Channels to add to the transformed data so that its planes do not share cache sets.

    A tile writes one line to each plane; where the planes are whole pages apart, all these lines
    want the same few places of the first cache.
    """
    return LINE_ELEMENTS if plane_bytes % ALIASED_BYTES == 0 else 0
