"""The rows and windows of images in kernels of convolutions.

    depthwise convolution -> .. -> 1x1 convolution      the rows of an image, channels last
    convolution -> .. -> pooling                        windows side by side

Behind a depthwise convolution the weights are few, so that blocks of rows may read them again.
Pooling is done on the tiles of a convolution while they are in registers
(`relay_tune.schedule.rewrites.winograd.written_windows`), or on a few of its rows.
"""

from __future__ import annotations

from math import prod

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.dim_arithmetic import product
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.fusion.rule import FusionRule, Rows
from relay_tune.op_rules.matching import attribute, static_shape, tensor_type
from relay_tune.tensor.size import EXAMPLE_IMAGES

LEAST_IMAGE = 1 << 20
"""Bytes of an image that leave the second cache before a convolution reads them.

Measured with convolutions of MobileNet v2, depthwise and 1x1, one core, one after the other and in
blocks of rows, microseconds. In float32, 2 MB of second cache: 32 channels of 112x112 287 and 179,
96 of 56x56 363 and 303, 144 of 56x56 331 and 267. With 192 channels of 28x28 blocks save nothing
(82 and 83), with 384 of 14x14 neither (66 and 68). In bytes, 1 MB of second cache: 32 channels of
112x112 64 and 142, 96 of 56x56 64 and 81, 144 of 56x56 87 and 171; blocks of rows have no dot
products.
"""

MOST_WEIGHTS = 256 << 10
"""Bytes of weights that each block of rows reads again.

As above: 7x7x384 to 160 (240 KB) .89 to 1.16, 14x14x512 to 128 (256 KB) .91 to 1.28, 7x7x576 to
160 .99 to 1.37, 7x7x960 to 160 1.01 to 1.36.
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
    data = tensor_type(call.arguments[0])
    if data is None or attribute(call, "data_layout") != "NHWC":
        return False
    return 1 < int(attribute(call, "groups")) == data.shape[-1]


def _is_large(image: Expr) -> bool:
    """Whether images are large; a few of them where only a run knows how many there are."""
    type_ = tensor_type(image)
    if type_ is None:
        return False
    dtype = DTYPES[type_.dtype]
    images = 1 if isinstance(type_.shape[0], int) or dtype.itemsize == 1 else EXAMPLE_IMAGES
    elements = images * prod(size for size in type_.shape if isinstance(size, int))
    return elements * dtype.itemsize >= LEAST_IMAGE


def _mixes_channels(call: Call) -> bool:
    """Whether the call is a product of each pixel's channels with the same weights."""
    data, result = tensor_type(call.arguments[0]), tensor_type(call)
    weight = static_shape(call.arguments[1])
    if data is None or result is None or weight is None or UNKNOWN in data.shape:
        return False
    if attribute(call, "data_layout") != "NHWC" or attribute(call, "groups") != 1:
        return False
    count = prod(weight)
    one_pixel = product((data.shape[-1], result.shape[-1])) == count
    same_pixels = data.shape[:-1] == result.shape[:-1]
    return one_pixel and same_pixels and count * DTYPES[data.dtype].itemsize < MOST_WEIGHTS


def _leaves_gaps(call: Call) -> bool:
    """Whether neighbours in an image are of different tiles, as with a stride."""
    strides = attribute(call, "strides")
    return (strides if isinstance(strides, int) else max(strides)) > 1


CONVOLUTION = FusionRule(gives_rows=_gives_rows, takes_rows=_takes_rows)
TRANSPOSED_CONVOLUTION = FusionRule(leaves_gaps=_leaves_gaps)
