"""Gradients of the taps of a convolution by Winograd's filtering, whose transforms are transposed.

    before:  y[kh, kw, c, o] = sum(n, h, w) x[n, h + kh, w + kw, c] * a[n, h, w, o]
    after:   v[k, n, ty, tx, c] = B^T d B          of the window d of x that a tile reads
             t[k, n, ty, tx, o] = A a A^T          of the positions of the tile in a
             u[k, c, o] = sum(n, ty, tx) v[k, n, ty, tx, c] * t[k, n, ty, tx, o]
             y[kh, kw, c, o] = G^T u G

A convolution is bilinear in its data and its taps, so is the filtering that computes it, and the
gradient of one is that of the other: A, B and G are those of the convolution whose taps y belongs
to, the sum has as many times fewer multiplications, and what that one allows is allowed here. Both
factors are stored in panels of their channels, which the products read in a line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.panels import panel_width
from relay_tune.schedule.nests.rewritten_stages import Rewriting
from relay_tune.schedule.rewrites.products import factors
from relay_tune.schedule.rewrites.winograd.blocks import tile_bands
from relay_tune.schedule.rewrites.winograd.match import Convolution, match_convolution
from relay_tune.schedule.rewrites.winograd.tile_elements import (
    result_of,
    row_and_column,
    two_passes,
    window_of,
)
from relay_tune.schedule.rewrites.winograd.transforms import (
    PlaneFiltering,
    rows_of_result_adjoint,
    rows_of_taps_adjoint,
)
from relay_tune.tensor.expression import (
    Axis,
    Load,
    Reduce,
    Scalar,
    Tensor,
    index_value,
    reduce,
)
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed, compute, input_tensor
from relay_tune.tensor.walk import substitute


@dataclass(frozen=True, eq=False, slots=True)
class TapsAdjoint:
    """The adjoint of the taps of a convolution.

    Attributes:
        stage: the result, over the taps, channels and outputs of the convolution.
        convolution: the one whose taps the result belongs to; it is computed nowhere.
        adjoint: that of its result.
        places: for each tap axis of the convolution the axis of `stage`.
    """

    stage: Computed
    convolution: Convolution
    adjoint: Tensor
    places: Mapping[Axis, Axis]


def match_taps_adjoint(stage: Tensor) -> TapsAdjoint | None:
    """The adjoint of taps that a stage computes; None if none that can be filtered."""
    if not isinstance(stage, Computed) or len(stage.shape) < 3:
        return None
    found = (_matched(stage, *each) for each in factors(stage))
    return next((each for each in found if each is not None), None)


def _matched(stage: Computed, total: Reduce, data: Load, adjoint: Load) -> TapsAdjoint | None:
    positions = [index for index in adjoint.indices if isinstance(index, Axis)]
    if positions[-1:] != [stage.axes[-1]] or len(positions) != len(total.axes) + 1:
        return None
    if set(positions[:-1]) != set(total.axes) or adjoint.dtype != "float32":
        return None
    whole = tuple(axis.extent for axis in positions)
    if whole != adjoint.tensor.shape or any(map(is_symbolic, (*whole, *stage.shape))):
        return None
    own = {axis: Axis(axis.name, axis.extent) for axis in stage.axes[:-1]}
    convolution = match_convolution(_convolution(stage, data, positions, own))
    if convolution is None:
        return None
    return TapsAdjoint(stage, convolution, adjoint.tensor, {new: old for old, new in own.items()})


def _convolution(
    stage: Computed, data: Load, positions: Sequence[Axis], taps: Mapping[Axis, Axis]
) -> Computed:
    """The convolution of the data over `positions` whose taps have the shape of a stage.

    `taps` has the axis of each tap, and of the channels, for those of the stage.
    """
    weight = input_tensor("taps", stage.shape, stage.dtype)

    def element(*at: Scalar) -> Scalar:
        read = substitute(data, {**taps, **dict(zip(positions, at, strict=True))})
        return reduce("sum", list(taps.values()), read * weight[(*taps.values(), at[-1])])

    return compute("convolution", [axis.extent for axis in positions], element)


def adjoint_stages(found: TapsAdjoint, filtering: PlaneFiltering, rewriting: Rewriting) -> Computed:
    """The result, by way of the transformed data, the transformed adjoint and their products."""
    convolution, stage = found.convolution, found.stage
    data = _transformed_data(convolution, filtering, rewriting.now(convolution.data))
    adjoint = _transformed_adjoint(convolution, filtering, rewriting.now(found.adjoint))
    products = _products(convolution, filtering, data, adjoint)
    extents = filtering.rows.products, filtering.columns.products
    maps = rows_of_taps_adjoint(filtering.rows), rows_of_taps_adjoint(filtering.columns)

    def element(*at: Scalar) -> Scalar:
        own = dict(zip(stage.axes, at, strict=True))
        taps = [
            own[found.places[axis]] if axis in found.places else index_value(0)
            for axis in convolution.tap_axes
        ]
        row, column, *others = taps

        def product(window_row: int, window_column: int) -> Scalar:
            number = window_row * extents[1] + window_column
            return products[(number, *others, at[-1])]

        return two_passes(maps, product, extents, (row, column))

    return compute(stage.name, stage.shape, element)


Places = tuple[Scalar, Sequence[Scalar], Scalar, Scalar]
"""An image, positions between the batch and the rows, a row and a column of tiles."""

Panels = Callable[[Scalar, Places, Scalar], Scalar]
"""panels(k, positions, channel): an element of a factor."""


def _in_panels(
    name: str, shape: tuple[int, Sequence[int], int], counts: Sequence[int], element: Panels
) -> Panels:
    """A factor of (k, .., channels) stored in panels of its channels."""
    products, depth, channels = shape
    width = panel_width(channels) or channels

    def stored(k: Scalar, block: Scalar, image: Scalar, *at: Scalar) -> Scalar:
        *between, row, column, position = at
        return element(k, (image, between, row, column), block * width + position)

    extents = (products, channels // width, counts[0], *depth, *counts[1:], width)
    panels = compute(name, extents, stored)

    def read(k: Scalar, positions: Places, channel: Scalar) -> Scalar:
        image, between, row, column = positions
        return panels[(k, channel // width, image, *between, row, column, channel % width)]

    return read


def _transformed_data(convolution: Convolution, filtering: PlaneFiltering, data: Tensor) -> Panels:
    tiles = tile_bands(convolution, filtering, None)[0]
    windows = filtering.rows.window, filtering.columns.window
    extents = filtering.rows.products, filtering.columns.products
    maps = filtering.rows.data, filtering.columns.data

    def element(k: Scalar, positions: Places, channel: Scalar) -> Scalar:
        image, between, *tile = positions
        position = (image, *tile), tiles.end
        window = window_of(convolution, filtering, data, position, between, channel)
        return two_passes(maps, window, windows, row_and_column(k, extents))

    shape = filtering.products, convolution.depths[0], data.shape[-1]
    return _in_panels("winograd_data", shape, tiles.counts, element)


def _transformed_adjoint(
    convolution: Convolution, filtering: PlaneFiltering, adjoint: Tensor
) -> Panels:
    tiles = tile_bands(convolution, filtering, None)[0]
    extents = filtering.rows.products, filtering.columns.products
    counts = filtering.rows.outputs, filtering.columns.outputs
    maps = rows_of_result_adjoint(filtering.rows), rows_of_result_adjoint(filtering.columns)

    def element(k: Scalar, positions: Places, channel: Scalar) -> Scalar:
        image, between, *tile = positions
        window = result_of(
            convolution, filtering, adjoint, ((image, *tile), tiles.end), between, channel
        )
        return two_passes(maps, window, counts, row_and_column(k, extents))

    shape = filtering.products, convolution.depths[1], adjoint.shape[-1]
    return _in_panels("winograd_adjoint", shape, tiles.counts, element)


def _products(
    convolution: Convolution, filtering: PlaneFiltering, data: Panels, adjoint: Panels
) -> Tensor:
    """u[k, .., c, o], over the taps between the batch and the rows."""
    counts = tile_bands(convolution, filtering, None)[0].counts
    names = ("image", "row", "column")
    image, row, column = (Axis(*each) for each in zip(names, counts, strict=True))
    between = convolution.stage.axes[1:-3]
    own = {axis: Axis(axis.name, axis.extent) for axis in between}
    slices = convolution.tap_axes[2:-1]

    def element(k: Scalar, *at: Scalar) -> Scalar:
        *taps, channel, output = at
        positions = {**own, **dict(zip(slices, taps, strict=True))}
        read = [substitute(index, positions) for index in convolution.slices]
        left = data(k, (image, read, row, column), channel)
        right = adjoint(k, (image, list(own.values()), row, column), output)
        return reduce("sum", [image, *own.values(), row, column], left * right)

    shape = (filtering.products, *convolution.taps_shape[2:])
    return compute("winograd_products", shape, element)
