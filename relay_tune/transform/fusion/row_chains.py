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
they are in registers (`relay_tune.schedule.rewrites.winograd.written_windows`), or on a few of its
rows. Which calls give and take rows is said by their rules in `relay_tune.op_rules.fusion`.
"""

from __future__ import annotations

from relay_tune.transform.fusion.call_graph import CallNode
from relay_tune.transform.fusion.groups import Groups


def join_row_chains(nodes: list[CallNode], groups: Groups, maximum_size: int) -> None:
    """Merge each group with the one that alone reads its result, if that one does so by rows."""
    for node in nodes:
        if not groups.is_result(node) or node.escapes or len(node.consumers) != 1:
            continue
        sink = node.consumers[0]
        if groups.merged_size([node, sink]) <= maximum_size and _is_link(node, sink, groups):
            groups.merge([node, sink])


def _is_link(node: CallNode, sink: CallNode, groups: Groups) -> bool:
    anchor = groups.of(node).anchor
    if anchor is None or sink.call.arguments[0] is not node.call:
        return False
    taken = sink.rule.takes_rows(sink.call)
    return bool(taken) and not taken.isdisjoint(anchor.rule.gives_rows(anchor.call))
