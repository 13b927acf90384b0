"""image.resize1d, image.resize2d, image.resize3d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, Operator, define
from relay_tune.op.elements import Array
from relay_tune.op.image.coordinates import AxisResize, exact, nearest, position_on
from relay_tune.op.image.interpolation import (
    Interpolation,
    interpolate,
    interpolate_array,
    method_name,
)
from relay_tune.op.layout_indices import compute_elements, spatial_letters
from relay_tune.op.spatial_attributes import by_spatial_axes
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, cast
from relay_tune.tensor.scalar_semantics import convert, numpy_dtype
from relay_tune.typing.layout import parse_layout
from relay_tune.typing.relations.pooling import resize as resize_relation
from relay_tune.typing.relations.support import as_tuple


@dataclass(frozen=True)
class ResizeAttributes(Attributes):
    """Attributes of a resize.

    Attributes:
        size: spatial sizes of the result.
        roi: for tf_crop_and_resize: where the region begins on each axis, then where it ends, as
            shares of the data.
        layout: layout of the data, such as NCHW, NHWC, NCHW16c.
        method: nearest_neighbor, linear or cubic.
        coordinate_transformation_mode: which position of the data an element shows: half_pixel,
            half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric,
            tf_half_pixel_for_nn or tf_crop_and_resize.
        rounding_method: for nearest_neighbor: floor, ceil, round, round_prefer_floor,
            round_prefer_ceil; empty: round with align_corners, else floor.
        cubic_alpha: the coefficient of cubic interpolation.
        cubic_exclude: not 0: neighbours outside of the data have weight 0 in cubic interpolation.
        extrapolation_value: what tf_crop_and_resize shows outside of the data.
        out_dtype: element type of the result; None or empty: that of the data.
        scales: result size by data size for each axis, where the size was rounded; None: exact.
    """

    size: int | tuple[int, ...]
    roi: tuple[float, ...] | None = None
    layout: str = "NC*"
    method: str = "linear"
    coordinate_transformation_mode: str = "half_pixel"
    rounding_method: str = ""
    cubic_alpha: float = -0.5
    cubic_exclude: int = 0
    extrapolation_value: float = 0.0
    out_dtype: str | None = None
    scales: tuple[float, ...] | None = None


Resize1DAttributes, Resize2DAttributes, Resize3DAttributes = by_spatial_axes(ResizeAttributes)


def axis_interpolations(
    attributes: ResizeAttributes, shape: Sequence[int]
) -> list[tuple[int, Interpolation]]:
    """(axis, how it is interpolated) for each axis of data of `shape` that changes."""
    letters = spatial_letters(attributes.layout)
    stored = [axis.letter for axis in parse_layout(attributes.layout)]
    sizes = as_tuple(attributes.size, len(letters), "size")
    found: list[tuple[int, Interpolation]] = []
    for number, letter in enumerate(letters):
        axis = stored.index(letter)
        how = _interpolation(attributes, number, len(letters), shape[axis], sizes[number])
        if not how.is_copy:
            found.append((axis, how))
    return found


def _interpolation(
    attributes: ResizeAttributes, number: int, axes: int, size: int, output: int
) -> Interpolation:
    scale = None if attributes.scales is None else exact(attributes.scales[number])
    roi = attributes.roi or (0.0,) * axes + (1.0,) * axes
    mode = attributes.coordinate_transformation_mode
    resized = AxisResize(size, output, scale, (roi[number], roi[number + axes]))
    position = position_on(resized, mode)
    method = method_name(attributes.method)
    if method == "nearest":
        default = "round" if mode == "align_corners" else "floor"
        position = nearest(position, attributes.rounding_method or default)
    return Interpolation(
        method=method,
        position=position,
        size=size,
        output=output,
        cubic_alpha=attributes.cubic_alpha,
        exclude_outside=bool(attributes.cubic_exclude),
        outside_value=attributes.extrapolation_value if mode == "tf_crop_and_resize" else None,
    )


def interpolation_dtype(method: str, dtype: str) -> str:
    """The element type to interpolate in."""
    if method_name(method) == "nearest" or dtype == "float64":
        return dtype
    return "float32"


def resize_tensor(attributes: ResizeAttributes, data: Tensor, dtype: str) -> Tensor:
    """The tensors of a resize to element type `dtype`, one for each axis that changes."""
    result = data
    for axis, how in axis_interpolations(attributes, data.shape):
        result = interpolate(
            result, axis, how, interpolation_dtype(attributes.method, result.dtype)
        )
    if result is not data and result.dtype == dtype:
        return result

    def element(*axes: Scalar) -> Scalar:
        return cast(result[axes], dtype)

    return compute_elements("resized_cast", result.shape, element)


def resize_array(attributes: ResizeAttributes, data: Array) -> Array:
    """numpy form of `resize_tensor`."""
    dtype = data.dtype.name
    wide = interpolation_dtype(attributes.method, dtype)
    result = data.astype(numpy_dtype(wide))
    for axis, how in axis_interpolations(attributes, data.shape):
        result = interpolate_array(result, axis, how)
    return np.ascontiguousarray(convert(result, attributes.out_dtype or dtype))


def _resize(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    return [resize_tensor(attributes, inputs[0], types[0].dtype)]


def _register(rank: int, attributes: type[Attributes]) -> Operator:
    return define(
        name=f"image.resize{rank}d",
        arguments=("data",),
        relation=resize_relation,
        kind=FusionKind.INJECTIVE,
        attributes=attributes,
        compute=_resize,
        reference=resize_array,
        documentation=f"An image with {rank} spatial axes at another size.",
    )


resize1d = _register(1, Resize1DAttributes)
resize2d = _register(2, Resize2DAttributes)
resize3d = _register(3, Resize3DAttributes)
