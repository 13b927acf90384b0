"""Which calls may share a kernel.

    phase      group               joins                     if the calls between and the result are
    epilogue   with an anchor      its post-dominator        element by element, of the same shape
    branches   any                 a concatenation that is  at least one of them has an anchor
                                   its only consumer
    tail       any tensor kernel   its only consumer         a constant pad, reshape or transpose
                                                             (but see `Stored`)
    producer   element by element  its post-dominator        at most injective, or the anchor is a
                                                             reduction or normalises rows, or
                                                             element by element in any
               injective           its post-dominator        at most injective
               view, slice         its only consumer         anything with affine indexing
               reshape, transpose  its only consumer         a product that reads it once
               stored weights      their only consumer       anything
    statistics a reduction of rows its post-dominator        element by element, or reduces the same
                                                             rows
    row chain  with an anchor      its only consumer         nothing between; each row of one needs
                                                             one row of the other

A kernel has at most one anchor, or one in each branch of a concatenation, or reductions of the same
rows (`relay_tune.transform.fusion.row_statistics`), or a chain of anchors
(`relay_tune.transform.fusion.row_chains`); see `relay_tune.transform.fusion.groups`. A join along
the outermost axis is in no kernel with others: its fields are computed in their places. What is
special of an operator is its rule in `relay_tune.op_rules.fusion`.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.operator import FusionKind
from relay_tune.op.primitive_views import JOIN_ONLY
from relay_tune.op_rules.fold.stored import is_stored
from relay_tune.op_rules.fusion.rule import Stored
from relay_tune.op_rules.matching import have_one_shape
from relay_tune.transform.fusion.call_graph import CallNode
from relay_tune.transform.fusion.groups import Group, Groups
from relay_tune.transform.fusion.row_statistics import reduced_rows


def is_pointwise(node: CallNode) -> bool:
    """Whether the call computes element by element."""
    return node.kind <= FusionKind.BROADCAST and not node.rule.is_cheap


def may_fuse(node: CallNode) -> bool:
    """Whether the call may be in a kernel with others at all."""
    fusable = node.kind <= FusionKind.OUTPUT_FUSABLE and not node.operator.stateful
    if not fusable or node.rule.is_alone or not node.call.arguments:
        return False
    return not node.rule.joins or JOIN_ONLY not in node.rule.primitive_attributes(node.call)


def is_epilogue(producer: CallNode, between: Sequence[CallNode], sink: CallNode) -> bool:
    """Whether everything up to `sink` can be done on the anchor's tile while it is in registers."""
    return all(is_pointwise(node) and same_shape(producer, node) for node in (*between, sink))


def is_tail(group: Group, sink: CallNode) -> bool:
    """Whether `sink` only says where the group's result is stored."""
    anchor = group.anchor
    with_gaps = anchor is not None and anchor.rule.leaves_gaps(anchor.call)
    return sink.rule.is_tail(sink.call, Stored(moved=group.closed, with_gaps=with_gaps))


def is_branch(node: CallNode, sink: CallNode, groups: Groups) -> bool:
    """Whether what `node` computes may be written directly into its slice of a concatenation."""
    group = groups.of(node)
    return (
        not node.escapes
        and node.consumers == [sink]
        and group.result is node
        and not group.closed
        and may_fuse(node)
        and (group.anchor is None or group.anchor.kind is FusionKind.OUTPUT_FUSABLE)
    )


def is_producer(
    node: CallNode, between: Sequence[CallNode], sink: CallNode, groups: Groups
) -> bool:
    """Whether `node` may be computed where `sink` reads it."""
    if is_stored(node.call) and not between:
        return sink.kind <= FusionKind.OUTPUT_FUSABLE
    if is_lone_slice(node, groups) and not between and sink.kind <= FusionKind.OUTPUT_FUSABLE:
        return True
    is_moved = node.rule.is_cheap and groups.of(node).size == 1
    if is_moved and not between and sink.rule.reads_once(sink.call, node.call):
        return True
    if not all(inner.kind <= FusionKind.INJECTIVE for inner in between):
        return False
    target = groups.of(sink)
    if target.anchor is None:
        return sink.kind <= FusionKind.INJECTIVE
    if target.anchor is sink or sink.kind > FusionKind.BROADCAST:
        reduces = sink.kind == FusionKind.REDUCTION or sink.rule.normalizes_rows(sink.call)
        return reduces and is_pointwise(node)
    return is_pointwise(node) or node.rule.is_cheap


def is_row_step(node: CallNode) -> bool:
    """Whether the call is element by element, or reduces rows."""
    return is_pointwise(node) or reduced_rows(node) is not None


def is_lone_slice(node: CallNode, groups: Groups) -> bool:
    """Whether the call is a slice of something that exists in memory."""
    return node.rule.is_slice and groups.of(node).size == 1


def same_shape(first: CallNode, second: CallNode) -> bool:
    """Whether both results certainly have one shape."""
    return have_one_shape(first.call, second.call)
