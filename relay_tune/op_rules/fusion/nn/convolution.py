"""The rows and windows of images in kernels of convolutions.

    depthwise convolution -> .. -> 1x1 convolution      the rows of an image, channels last
    convolution -> .. -> pooling                        windows side by side

Behind a depthwise convolution the weights are few, so that blocks of rows may read them again.
Pooling is done on the tiles of a convolution while they are in registers
(`relay_tune.schedule.rewrites.winograd.written_windows`), or on a few of its rows.
"""

from __future__ import annotations

from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.fusion.rule import FusionRule, Rows
from relay_tune.op_rules.matching import attribute, static_shape, tensor_type

LEAST_IMAGE = 1 << 20
"""Bytes of an image that leave the second cache before a convolution reads them.

Measured with convolutions of MobileNet v2, depthwise and 1x1, one core, one after the other and in
blocks of rows, microseconds. In float32, 2 MB of second cache: 32 channels of 112x112 287 and 179,
96 of 56x56 363 and 303, 144 of 56x56 331 and 267. With 192 channels of 28x28 blocks save nothing
(82 and 83), with 384 of 14x14 neither (66 and 68). In bytes, 1 MB of second cache: 32 channels of
112x112 64 and 142, 96 of 56x56 64 and 81, 144 of 56x56 87 and 171; blocks of rows have no dot
products.
"""


def _gives_rows(call: Call) -> frozenset[Rows]:
    given = {Rows.WINDOWS, Rows.PIXELS} if _is_depthwise(call) else {Rows.WINDOWS}
    return frozenset(given) if _has_two_dimensions(call) else frozenset()


def _takes_rows(call: Call) -> frozenset[Rows]:
    mixes = _is_large(call.arguments[0]) and _mixes_channels(call)
    return frozenset({Rows.PIXELS} if mixes else ())


def _has_two_dimensions(call: Call) -> bool:
    layout = attribute(call, "data_layout")
    return sum(map(str.isupper, layout)) == len("NCHW")


def _is_depthwise(call: Call) -> bool:
    """Whether the call convolves each channel of an image, channels last, by itself."""
    shape = static_shape(call.arguments[0])
    if shape is None or attribute(call, "data_layout") != "NHWC":
        return False
    return 1 < int(attribute(call, "groups")) == shape[-1]


def _is_large(image: Expr) -> bool:
    shape, type_ = static_shape(image), tensor_type(image)
    if shape is None or type_ is None:
        return False
    return prod(shape) * DTYPES[type_.dtype].itemsize >= LEAST_IMAGE


def _mixes_channels(call: Call) -> bool:
    """Whether the call is a product of each pixel's channels with the same weights."""
    data, result = static_shape(call.arguments[0]), static_shape(call)
    weight = static_shape(call.arguments[1])
    if data is None or result is None or weight is None:
        return False
    if attribute(call, "data_layout") != "NHWC" or attribute(call, "groups") != 1:
        return False
    return data[:-1] == result[:-1] and prod(weight) == data[-1] * result[-1]


def _leaves_gaps(call: Call) -> bool:
    """Whether neighbours in an image are of different tiles, as with a stride."""
    strides = attribute(call, "strides")
    return (strides if isinstance(strides, int) else max(strides)) > 1


CONVOLUTION = FusionRule(gives_rows=_gives_rows, takes_rows=_takes_rows)
TRANSPOSED_CONVOLUTION = FusionRule(leaves_gaps=_leaves_gaps)
