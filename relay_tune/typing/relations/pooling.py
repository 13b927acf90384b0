"""Type relations of pooling and of resizing, along the spatial axes of a layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.dim_arithmetic import multiply
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.layout import logical_dims, physical_shape
from relay_tune.typing.relations.convolution import spatial_letters
from relay_tune.typing.relations.support import (
    as_tuple,
    conflict,
    of_tensor,
    of_tensors,
    require_same_dim,
    same_dim,
)
from relay_tune.typing.windows import pad_pairs, pool_window_count, window_count_rounded_up

SpatialSizes = Callable[[dict[str, Dim], list[str]], Sequence[Dim]]


@of_tensor
def pool(attributes: Any, data: TensorType) -> Type:
    """Attributes pool_size, strides, dilation, padding, ceil_mode, layout, out_layout."""

    def sizes_of(sizes: dict[str, Dim], spatial: list[str]) -> Sequence[Dim]:
        count = window_count_rounded_up if attributes.ceil_mode else pool_window_count
        axes = len(spatial)
        window = as_tuple(attributes.pool_size, axes, "pool_size")
        strides = as_tuple(attributes.strides, axes, "strides")
        dilation = as_tuple(getattr(attributes, "dilation", 1), axes, "dilation")
        pads = pad_pairs(attributes.padding, axes)
        return [
            count(letter, sizes[letter], window[i], strides[i], dilation[i], pads[i])
            for i, letter in enumerate(spatial)
        ]

    return _with_spatial_sizes(data, attributes, sizes_of)


@of_tensor
def global_pool(attributes: Any, data: TensorType) -> Type:
    """Attributes layout, out_layout: every spatial size becomes 1."""
    return _with_spatial_sizes(data, attributes, lambda _, spatial: [1] * len(spatial))


@of_tensor
def adaptive_pool(attributes: Any, data: TensorType) -> Type:
    """Attribute output_size: spatial sizes of the result (None or empty: those of the data)."""

    def sizes_of(sizes: dict[str, Dim], spatial: list[str]) -> Sequence[Dim]:
        wanted = attributes.output_size
        if wanted is None or wanted == ():
            return [sizes[letter] for letter in spatial]
        return _made_of_elements(sizes, spatial, as_tuple(wanted, len(spatial), "output_size"))

    return _with_spatial_sizes(data, attributes, sizes_of)


@of_tensor
def resize(attributes: Any, data: TensorType) -> Type:
    """Attributes size, layout, out_dtype; further arguments (region, scales) are tensors."""

    def sizes_of(sizes: dict[str, Dim], spatial: list[str]) -> Sequence[Dim]:
        return _made_of_elements(sizes, spatial, as_tuple(attributes.size, len(spatial), "size"))

    return _with_spatial_sizes(data, attributes, sizes_of)


def _made_of_elements(
    sizes: dict[str, Dim], spatial: list[str], wanted: Sequence[int]
) -> Sequence[int]:
    """The sizes wanted; RelationError where an axis without elements would get some."""
    for letter, size in zip(spatial, wanted, strict=True):
        if sizes[letter] == 0 and size != 0:
            raise RelationError(f"axis {letter} of the data has no elements to make {size} of")
    return wanted


@of_tensor
def upsampling(attributes: Any, data: TensorType) -> Type:
    """Attributes scale_d, scale_h, scale_w (those of the layout's axes), layout."""

    def sizes_of(sizes: dict[str, Dim], spatial: list[str]) -> Sequence[Dim]:
        scales = [getattr(attributes, f"scale_{letter.lower()}", 1) for letter in spatial]
        return [
            _scaled(sizes[letter], scale) for letter, scale in zip(spatial, scales, strict=True)
        ]

    return _with_spatial_sizes(data, attributes, sizes_of)


@of_tensors
def grid_sample(attributes: Any, data: TensorType, grid: TensorType) -> Type:
    """(data [N, C, spatial], grid [N, coordinate, spatial]): the spatial sizes of the grid."""
    count = len(data.shape) - 2
    if len(grid.shape) != len(data.shape):
        raise conflict("grid_sample", data, grid, "they differ in their number of dimensions")
    if same_dim(grid.shape[1], count) is None:
        raise conflict("grid_sample", data, grid, f"a point has {count} coordinates")
    if 0 in data.shape[2:] and 0 not in grid.shape:
        raise conflict("grid_sample", data, grid, "the data have no elements")
    batch = require_same_dim("grid_sample", data, grid, (0, 0))
    return TensorType((batch, data.shape[1], *grid.shape[2:]), data.dtype)


def _with_spatial_sizes(data: TensorType, attributes: Any, sizes_of: SpatialSizes) -> Type:
    """The data with other spatial sizes, in out_layout and out_dtype if they are given."""
    sizes = logical_dims(data, attributes.layout)
    spatial = spatial_letters(sizes)
    sizes.update(zip(spatial, sizes_of(sizes, spatial), strict=True))
    layout = getattr(attributes, "out_layout", "") or attributes.layout
    dtype = getattr(attributes, "out_dtype", None) or data.dtype
    return TensorType(physical_shape(sizes, layout), dtype)


def _scaled(dim: Dim, scale: float) -> Dim:
    if isinstance(dim, int):
        return round(dim * scale)
    return multiply(dim, int(scale)) if float(scale).is_integer() else UNKNOWN
