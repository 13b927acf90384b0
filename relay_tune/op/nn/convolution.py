"""nn.conv1d, nn.conv2d, nn.conv3d, and the names of nn.conv2d for blocked channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import floor_divide, multiply
from relay_tune.ir.expr import ABSENT_FROM_KEYS, Attributes
from relay_tune.ir.operator import FusionKind, Operator, define
from relay_tune.ir.types import TensorType
from relay_tune.op.another_name import another_name
from relay_tune.op.nn.convolution_computation import convolution, convolution_reference
from relay_tune.op.spatial_attributes import by_spatial_axes
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.layout import logical_dims
from relay_tune.typing.relations.convolution import conv as conv_relation


@dataclass(frozen=True)
class ConvAttributes(Attributes):
    """Attributes of a convolution; a single number counts for every spatial axis.

    Attributes:
        strides: steps of the window, in elements.
        padding: zeros around the data: 1 number, 1 an axis, or all befores then all afters.
        dilation: distance of neighbouring elements of the window.
        groups: channels are split into so many independent convolutions.
        channels: output channels; None: those of the weight.
        kernel_size: spatial sizes of the weight; None: those of the weight.
        data_layout: layout of the data, such as NCHW, NHWC, NCHW16c.
        kernel_layout: layout of the weight, such as OIHW, HWIO, OIHW16i16o.
        out_layout: layout of the result; empty: that of the data.
        out_dtype: element type of the result; empty: that of the data.
        sum_bits: how many bits with a sign hold each sum, of integers; 0: nobody knows. Of a sum
            that has more, no more than so many low bits are certain.
    """

    strides: int | tuple[int, ...] = (1,)
    padding: int | tuple[int, ...] = (0,)
    dilation: int | tuple[int, ...] = (1,)
    groups: int = 1
    channels: int | None = None
    kernel_size: int | tuple[int, ...] | None = None
    data_layout: str = "NC*"
    kernel_layout: str = "OI*"
    out_layout: str = ""
    out_dtype: str = ""
    sum_bits: int = field(default=0, metadata=ABSENT_FROM_KEYS)


@dataclass(frozen=True)
class BlockedConvAttributes(ConvAttributes):
    """Attributes of the convolutions whose names say that channels are blocked."""

    data_layout: str = "NC*8c"
    kernel_layout: str = "OI*8i8o"


Conv1DAttributes, Conv2DAttributes, Conv3DAttributes = by_spatial_axes(ConvAttributes)
_, BlockedConv2DAttributes, _ = by_spatial_axes(BlockedConvAttributes)


def grouped_channels(
    attributes: ConvAttributes, inputs: Sequence[TensorType], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    """The channels of the data, and those that are in groups."""
    channels = logical_dims(inputs[0], attributes.data_layout)["C"]
    return channels, multiply(floor_divide(channels, attributes.groups), attributes.groups)


def _conv(name: str, rank: int, attributes: type[ConvAttributes]) -> Operator:
    return define(
        name=name,
        arguments=("data", "weight"),
        relation=conv_relation,
        kind=FusionKind.OUTPUT_FUSABLE,
        attributes=attributes,
        compute=convolution,
        reference=convolution_reference,
        element_counts=grouped_channels,
        documentation=(
            f"Convolution (cross-correlation) over {rank} spatial axes: each element of the "
            "result is the sum over the input channels of its group and over the elements "
            "of the window of data times weight."
        ),
    )


conv1d = _conv("nn.conv1d", 1, Conv1DAttributes)
conv2d = _conv("nn.conv2d", 2, Conv2DAttributes)
conv3d = _conv("nn.conv3d", 3, Conv3DAttributes)
conv2d_blocked, depthwise_conv2d_blocked = (
    another_name(conv2d, name, conv2d.documentation, BlockedConv2DAttributes)
    for name in ("nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc")
)
