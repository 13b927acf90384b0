"""nn.conv1d_transpose, nn.conv2d_transpose, nn.conv3d_transpose."""

from __future__ import annotations

from relay_tune.ir.operator import FusionKind, Operator, define
from relay_tune.op.nn.convolution import ConvAttributes, grouped_channels
from relay_tune.op.nn.transposed_convolution_computation import (
    convolution_transpose,
    convolution_transpose_reference,
)
from relay_tune.op.spatial_attributes import by_spatial_axes
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.relations.convolution import conv_transpose as conv_transpose_relation


@dataclass(frozen=True)
class ConvTransposeAttributes(ConvAttributes):
    """Attributes of a transposed convolution: those of a convolution and `output_padding`.

    `padding` is cut off the result. The kernel layout names the channels by their part in this
    operator: I are those of the data, O those of one group of the result.

    Attributes:
        output_padding: elements added at the end of each spatial axis, before the cut.
    """

    kernel_layout: str = "IO*"
    output_padding: int | tuple[int, ...] = (0,)


ConvTranspose1DAttributes, ConvTranspose2DAttributes, ConvTranspose3DAttributes = by_spatial_axes(
    ConvTransposeAttributes
)


def _conv_transpose(rank: int, attributes: type[ConvTransposeAttributes]) -> Operator:
    return define(
        name=f"nn.conv{rank}d_transpose",
        arguments=("data", "weight"),
        relation=conv_transpose_relation,
        kind=FusionKind.OUTPUT_FUSABLE,
        attributes=attributes,
        compute=convolution_transpose,
        reference=convolution_transpose_reference,
        element_counts=grouped_channels,
        documentation=(
            f"Transposed convolution over {rank} spatial axes: each element of the data adds "
            "its product with the window to the result, at its place times the stride."
        ),
    )


conv1d_transpose = _conv_transpose(1, ConvTranspose1DAttributes)
conv2d_transpose = _conv_transpose(2, ConvTranspose2DAttributes)
conv3d_transpose = _conv_transpose(3, ConvTranspose3DAttributes)
