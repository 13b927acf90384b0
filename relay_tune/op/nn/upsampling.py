"""nn.upsampling, nn.upsampling3d: enlarging by factors, said in terms of image.resize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, Operator, define
from relay_tune.op.elements import Array
from relay_tune.op.image.resize import ResizeAttributes, resize_array, resize_tensor
from relay_tune.op.layout_indices import letter_sizes, spatial_letters
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Tensor
from relay_tune.typing.relations.pooling import upsampling as upsampling_relation


@dataclass(frozen=True)
class UpsamplingAttributes(Attributes):
    """Attributes of nn.upsampling.

    Attributes:
        scale_h: factor of the height.
        scale_w: factor of the width.
        layout: layout of the data, such as NCHW, NHWC, NCHW16c.
        method: nearest_neighbor, bilinear or bicubic.
        align_corners: whether the corners stay where they are; else beginnings of elements do.
    """

    scale_h: float = 1
    scale_w: float = 1
    layout: str = "NCHW"
    method: str = "nearest_neighbor"
    align_corners: bool = False


@dataclass(frozen=True)
class Upsampling3DAttributes(Attributes):
    """Attributes of nn.upsampling3d.

    Attributes:
        scale_d: factor of the depth.
        scale_h: factor of the height.
        scale_w: factor of the width.
        layout: layout of the data, such as NCDHW, NDHWC.
        method: nearest_neighbor or trilinear.
        coordinate_transformation_mode: as in image.resize3d.
    """

    scale_d: float = 1
    scale_h: float = 1
    scale_w: float = 1
    layout: str = "NCDHW"
    method: str = "nearest_neighbor"
    coordinate_transformation_mode: str = "half_pixel"


def _as_resize(attributes: Any, shape: Sequence[int]) -> ResizeAttributes:
    """The resize that this means for data of `shape`."""
    sizes = letter_sizes(shape, attributes.layout)
    letters = spatial_letters(attributes.layout)
    mode = _coordinate_mode(attributes)
    scales = [getattr(attributes, f"scale_{letter.lower()}") for letter in letters]
    return ResizeAttributes(
        size=tuple(_scaled(sizes[n], scale) for n, scale in zip(letters, scales, strict=True)),
        layout=attributes.layout,
        method=attributes.method,
        coordinate_transformation_mode=mode,
        rounding_method="round" if mode == "half_pixel" else "",
    )


def _scaled(size: int, scale: float) -> int:
    return size * int(scale) if float(scale).is_integer() else round(size * scale)


def _coordinate_mode(attributes: Any) -> str:
    if isinstance(attributes, Upsampling3DAttributes):
        return attributes.coordinate_transformation_mode
    return "align_corners" if attributes.align_corners else "asymmetric"


def _upsampling(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    (data,) = inputs
    return [resize_tensor(_as_resize(attributes, data.shape), data, types[0].dtype)]


def _upsampling_reference(attributes: Any, data: Array) -> Array:
    return resize_array(_as_resize(attributes, data.shape), data)


def _register(name: str, attributes: type[Attributes]) -> Operator:
    return define(
        name=name,
        arguments=("data",),
        relation=upsampling_relation,
        kind=FusionKind.INJECTIVE,
        attributes=attributes,
        compute=_upsampling,
        reference=_upsampling_reference,
        documentation="The data enlarged by a factor for each spatial axis.",
    )


upsampling = _register("nn.upsampling", UpsamplingAttributes)
upsampling3d = _register("nn.upsampling3d", Upsampling3DAttributes)
