"""Convolution by Winograd's filtering: one stage becomes three, of ordinary expressions.

    before:  y[n, h, w, o] = sum(kh, kw, c) x[n, h + kh, w + kw, c] * g[kh, kw, c, o]
    after:   v[block, k, tile, c] = B^T d B         of the window d that the tile (ty, tx) reads
             t[block, k, tile, o] = sum(c) v[block, k, tile, c] * u[k, c, o]
             y[n, h, w, o] = A^T t A                at h = m * ty + r, w = m * tx + s

k counts the elements of a window; u is computed from the taps (see `taps`). All tiles are one block
unless `tiles` says how many a block has (see `blocks`). The sum has 9 / ((m + 2) / m)^2 times fewer
multiplications: 2.25 for m = 2, 4 for m = 4, where the result differs from the direct one by some
1e-6 of the largest element. A NaN or an infinity in a window spoils the whole tile.

A convolution over volumes is filtered in its last two dimensions, and summed over the taps of the
others: with d an index of both v and t, t[.., d, .., o] = sum(kd, c) v[.., d + kd, ..] u[k, kd].

Taps of the rows or of the columns alone, and those of one dimension, are filtered along that one: 6
products for each 12 with m = 4. Where taps lie d elements apart, so do those of a tile: the image
is filtered in d phases.

Of a transposed convolution with stride s, a tile has m results of each phase, s * m along each
dimension (see `match_phases`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from relay_tune.machine.machine import LINE_BYTES
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.winograd.adjoint import adjoint_stages, match_taps_adjoint
from relay_tune.schedule.rewrites.winograd.blocks import (
    TileBlocks,
    TileElement,
    TileRuns,
    tile_bands,
    tile_runs,
)
from relay_tune.schedule.rewrites.winograd.integer_transforms import exactly_divided
from relay_tune.schedule.rewrites.winograd.match import Convolution
from relay_tune.schedule.rewrites.winograd.match_phases import match_filtered
from relay_tune.schedule.rewrites.winograd.numbers import FLOATS, Numbers
from relay_tune.schedule.rewrites.winograd.taps import Taps, taps_of
from relay_tune.schedule.rewrites.winograd.tile_elements import (
    row_and_column,
    tile_of,
    two_passes,
    window_of,
)
from relay_tune.schedule.rewrites.winograd.transforms import PlaneFiltering
from relay_tune.schedule.rewrites.winograd.written_windows import written_out
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Reduce,
    Scalar,
    Tensor,
    binary,
    cast,
    index_value,
    literal,
    reduce,
    select,
)
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.tensor.walk import substitute

ALIASED_BYTES = 2048
"""Lines at multiples of this have two sets in an L1 of 64 sets."""


def winograd_program(
    program: TensorProgram,
    outputs: int,
    tiles: int | None = None,
    *,
    in_runs: bool = False,
    numbers: Numbers = FLOATS,
) -> TensorProgram | None:
    """The program with its convolutions of three taps in tiles of `outputs` along each dimension.

    Where blocks of so many `tiles` divide a convolution, it is computed in them. `in_runs` has the
    tiles one after the other, so that any number of them can be a block of rows. Windows of the
    results that lie side by side in tiles are reduced there (see `written_windows`). Convolutions
    of other `numbers` stay. None where there is no such convolution with enough channels.
    """
    elementwise: set[Tensor] = set()

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed:
        found = match_filtered(stage, numbers)
        if found is not None:
            new = _filtered(found, rewriting, outputs, tiles, in_runs)
        else:
            new = _adjoint(stage, rewriting, outputs) if numbers is FLOATS else None
        if new is None:
            new = written_out(rewriting.rebuilt(stage), elementwise, outputs)
        if new is not stage and not isinstance(new.body, Reduce):
            elementwise.add(new)
        return new

    return with_rewritten_stages(program, rewrite)


def _filtered(
    found: Convolution, rewriting: Rewriting, outputs: int, tiles: int | None, in_runs: bool
) -> Computed | None:
    """A convolution in tiles; None where it has none of so many outputs."""
    filtering = found.filtering(outputs)
    if filtering is None:
        return None
    taps = taps_of(found, filtering, rewriting)
    bands: Sequence[TileBlocks | TileRuns]
    bands = (tile_runs(found, filtering),) if in_runs else tile_bands(found, filtering, tiles)
    return _stages(found, rewriting.now(found.data), taps, filtering, bands)


def _adjoint(stage: Computed, rewriting: Rewriting, outputs: int) -> Computed | None:
    """The adjoint of taps that a stage computes, in tiles; None if it is none."""
    found = match_taps_adjoint(stage)
    if found is None:
        return None
    filtering = found.convolution.filtering(outputs)
    return None if filtering is None else adjoint_stages(found, filtering, rewriting)


Result = Callable[[Scalar, Sequence[Scalar], Scalar, Scalar, Scalar], Scalar]
"""The element of a result at an image, indices between the batch and the rows, a row, a column
and an output channel."""


def _stages(
    convolution: Convolution,
    data: Tensor,
    taps: Taps,
    filtering: PlaneFiltering,
    bands: Sequence[TileBlocks | TileRuns],
) -> Computed:
    """The result of a convolution, by way of the transformed data and the products."""
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
    """The positions of a result with a column behind the row; a line has one column."""
    return (at[0], literal(0, INDEX), at[1]) if convolution.is_line else at


def _band(
    convolution: Convolution,
    data: Tensor,
    taps: Taps,
    filtering: PlaneFiltering,
    blocks: TileBlocks | TileRuns,
) -> Result:
    """The result of a band of rows of tiles."""
    transformed = _transformed_data(convolution, data, filtering, blocks)
    products = _products(convolution, transformed, taps, filtering, blocks)
    of_tile = _results_of(convolution, products, filtering, blocks)

    def result(n: Scalar, depth: Sequence[Scalar], h: Scalar, w: Scalar, o: Scalar) -> Scalar:
        row, down = tile_of(filtering.rows, h, convolution.dilations[0])
        column, right = tile_of(filtering.columns, w, convolution.dilations[1])
        own = TileElement((n, row, column), literal(0, INDEX), depth, o)
        return of_tile(own, (down, right))

    return result


def _transformed_data(
    convolution: Convolution,
    data: Tensor,
    filtering: PlaneFiltering,
    blocks: TileBlocks | TileRuns,
) -> Tensor:
    """v: the transformed windows of the tiles."""
    depth = convolution.depths[0]
    windows = filtering.rows.window, filtering.columns.window
    extents = filtering.rows.products, filtering.columns.products
    maps = filtering.rows.data, filtering.columns.data
    inputs = convolution.taps_shape[-2]
    width = numpy_dtype(convolution.numbers.transformed).itemsize
    stored = inputs + _spare_channels(blocks, prod(depth) * inputs, width)

    def element(*at: Scalar) -> Scalar:
        own = blocks.element(at)
        index = own.tile, blocks.end
        window = window_of(convolution, filtering, data, index, own.depth, own.channel)
        value = two_passes(maps, window, windows, row_and_column(own.product, extents))
        return select(binary("lt", own.channel, inputs), value, 0)

    return compute("winograd_data", blocks.shape(filtering.products, depth, stored), element)


def _products(
    convolution: Convolution,
    transformed: Tensor,
    taps: Taps,
    filtering: PlaneFiltering,
    blocks: TileBlocks | TileRuns,
) -> Tensor:
    """t: the products of transformed windows and taps, summed over the channels."""
    summed = [Axis(axis.name, axis.extent) for axis in convolution.steps]
    renamed: dict[Axis, Scalar] = dict(zip(convolution.steps, summed, strict=True))

    def product(*at: Scalar) -> Scalar:
        own = blocks.element(at)
        indices = dict(zip(convolution.stage.axes[1:-3], own.depth, strict=True))
        depth = [substitute(index, {**renamed, **indices}) for index in convolution.slices]
        read = transformed[tuple(blocks.beside(at, depth, summed[-1]))]
        factors = read, taps(own.product, *summed, own.channel)
        left, right = (cast(factor, convolution.numbers.sums) for factor in factors)
        return reduce("sum", summed, left * right)

    outputs = convolution.taps_shape[-1]
    shape = blocks.shape(filtering.products, convolution.depths[1], outputs)
    return compute("winograd_products", shape, product)


OfTile = Callable[[TileElement, tuple[Scalar, Scalar]], Scalar]
"""The result at a row and a column of a tile."""


def _results_of(
    convolution: Convolution,
    products: Tensor,
    filtering: PlaneFiltering,
    blocks: TileBlocks | TileRuns,
) -> OfTile:
    """A^T t A."""
    extents = filtering.rows.products, filtering.columns.products
    maps = filtering.rows.result, filtering.columns.result

    def of_tile(own: TileElement, at: tuple[Scalar, Scalar]) -> Scalar:
        def of_window(window_row: int, window_column: int) -> Scalar:
            number = index_value(window_row * extents[1] + window_column)
            return products[tuple(blocks.index(replace(own, product=number)))]

        found = two_passes(maps, of_window, extents, at)
        is_exact = convolution.numbers is not FLOATS
        return exactly_divided(found, filtering, at) if is_exact else found

    return of_tile


def _spare_channels(blocks: TileBlocks | TileRuns, channels: int, width: int) -> int:
    """Channels to add to the transformed data so that its planes do not share cache sets.

    A tile writes one line to each plane; where the planes are whole pages apart, all these lines
    want the same few sets of L1.
    """
    if isinstance(blocks, TileRuns) or blocks.block != blocks.counts:
        return 0
    is_aliased = prod(blocks.counts) * channels * width % ALIASED_BYTES == 0
    return LINE_BYTES // width if is_aliased else 0
