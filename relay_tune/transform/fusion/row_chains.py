"""Chains of operators that work row by row: each needs of the one before only its own row.

    batch_matmul -> .. -> softmax -> batch_matmul       the rows of scores, as in attention
    add, gelu, ..  -> softmax, layer_norm               element by element, then a row
    depthwise convolution -> .. -> 1x1 convolution      the rows of an image, channels last
    convolution -> .. -> pooling                        windows side by side

In one primitive they can run block by block of rows (`relay_tune.schedule.row_groups.groups`), so
that the scores never leave the nearest cache. Measured with 12 heads, 128 rows and keys, 64
channels on one core: 391 us together, 467 us one after the other. A product with constant weights
in front of a normalisation stays apart: each block of rows would read all the weights again. Behind
a depthwise convolution the weights are few. Pooling is done on the tiles of a convolution while
they are in registers (`relay_tune.schedule.written_windows`), or on a few of its rows.
"""

from __future__ import annotations

from math import prod

from relay_tune.ir.expr import Call
from relay_tune.op.nn.pool import pool_windows
from relay_tune.op_rules.matching import attribute, operator_name, rank, static_shape
from relay_tune.transform.fusion.call_graph import CallNode
from relay_tune.transform.fusion.groups import Groups

SOFTMAX = frozenset({"nn.softmax", "nn.fast_softmax", "nn.log_softmax"})
NORMALIZATIONS = frozenset({*SOFTMAX, "nn.layer_norm"})
"""Operators that read each row several times and need nothing else for it."""

POOLS = frozenset({"nn.max_pool2d", "nn.avg_pool2d"})
PRODUCT = "nn.batch_matmul"
CONVOLUTION = "nn.conv2d"

LEAST_IMAGE = 1 << 18
"""Elements of an image that leave the second cache before a convolution reads them.

Measured with convolutions of MobileNet v2, depthwise and 1x1, one core with 2 MB of second cache,
one after the other and in blocks of rows, microseconds: 32 channels of 112x112 287 and 179, 96 of
56x56 363 and 303, 144 of 56x56 331 and 267. With 192 channels of 28x28 blocks save nothing (82 and
83), with 384 of 14x14 neither (66 and 68).
"""


def join_row_chains(nodes: list[CallNode], groups: Groups, maximum_size: int) -> None:
    """Merge each group with the one that alone reads its result, if that one does so by rows."""
    for node in nodes:
        if not groups.is_result(node) or node.escapes or len(node.consumers) != 1:
            continue
        sink = node.consumers[0]
        if groups.merged_size([node, sink]) <= maximum_size and _is_link(node, sink, groups):
            groups.merge([node, sink])


def normalizes_rows(node: CallNode) -> bool:
    """Whether the call normalises along its last axis."""
    axis = attribute(node.call, "axis", -1)
    return node.operator.name in NORMALIZATIONS and axis in (-1, _last_axis(node))


def _is_link(node: CallNode, sink: CallNode, groups: Groups) -> bool:
    anchor = groups.of(node).anchor
    if anchor is None or sink.call.arguments[0] is not node.call:
        return False
    if sink.operator.name in POOLS:
        return anchor.operator.name == CONVOLUTION and _is_side_by_side(sink.call)
    if sink.operator.name == CONVOLUTION:
        return _is_depthwise(anchor.call) and _is_large(node.call) and _mixes_channels(sink.call)
    if sink.operator.name in SOFTMAX and normalizes_rows(sink):
        return anchor.operator.name == PRODUCT
    if sink.operator.name != PRODUCT or attribute(sink.call, "transpose_a", False):
        return False
    return anchor.operator.name in SOFTMAX and normalizes_rows(anchor)


def _is_depthwise(call: Call) -> bool:
    """Whether the call convolves each channel of an image, channels last, by itself."""
    shape = static_shape(call.arguments[0])
    if (
        operator_name(call) != CONVOLUTION
        or shape is None
        or attribute(call, "data_layout") != "NHWC"
    ):
        return False
    return 1 < int(attribute(call, "groups")) == shape[-1]


def _is_large(call: Call) -> bool:
    shape = static_shape(call)
    return shape is not None and prod(shape) >= LEAST_IMAGE


def _mixes_channels(call: Call) -> bool:
    """Whether the call is a product of each pixel's channels with the same weights."""
    data, result = static_shape(call.arguments[0]), static_shape(call)
    weight = static_shape(call.arguments[1])
    if data is None or result is None or weight is None:
        return False
    if attribute(call, "data_layout") != "NHWC" or attribute(call, "groups") != 1:
        return False
    return data[:-1] == result[:-1] and prod(weight) == data[-1] * result[-1]


def _is_side_by_side(call: Call) -> bool:
    """Whether the windows of a pooling share no element and leave none of the border out."""
    data, result = static_shape(call.arguments[0]), static_shape(call)
    windows = pool_windows(call.attributes)
    if data is None or result is None or prod(result) * prod(windows.size) > prod(data):
        return False
    dense = all(step == 1 for step in windows.dilation)
    return dense and windows.strides == windows.size and not any(windows.before + windows.after)


def _last_axis(node: CallNode) -> int | None:
    known = rank(node.call)
    return None if known is None else known - 1
