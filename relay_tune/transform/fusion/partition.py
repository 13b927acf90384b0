"""Growing groups of calls: the phases of fusion."""

from __future__ import annotations

from functools import partial

from relay_tune.ir.operator import FusionKind
from relay_tune.ir.reached import reached
from relay_tune.transform.fusion.call_graph import CallNode
from relay_tune.transform.fusion.groups import Groups
from relay_tune.transform.fusion.narrow_results import ends_narrow
from relay_tune.transform.fusion.row_chains import join_row_chains
from relay_tune.transform.fusion.row_statistics import keeps_to_rows
from relay_tune.transform.fusion.rules import (
    is_branch,
    is_epilogue,
    is_producer,
    is_row_step,
    is_tail,
    may_fuse,
)


def partition(nodes: list[CallNode], maximum_size: int) -> Groups:
    """Group the calls of a graph; each phase goes once through them in order of evaluation."""
    groups = Groups(nodes)
    for node in nodes:
        if _is_anchor(node):
            _grow_epilogue(node, groups, maximum_size)
    for node in nodes:
        if node.rule.joins and may_fuse(node):
            _join_branches(node, groups, maximum_size)
    for node in nodes:
        if groups.is_result(node) and groups.of(node).anchor is not None:
            _grow_tail(node, groups, maximum_size)
    for node in nodes:
        if groups.is_result(node):
            _join_consumer(node, groups, maximum_size)
    for node in nodes:
        if groups.is_result(node):
            _join_statistics(node, groups, maximum_size)
    join_row_chains(nodes, groups, maximum_size)
    return groups


def _is_anchor(node: CallNode) -> bool:
    return node.kind in (FusionKind.REDUCTION, FusionKind.OUTPUT_FUSABLE)


def _grow_epilogue(anchor: CallNode, groups: Groups, maximum_size: int) -> None:
    node: CallNode | None = anchor
    while node is not None and not ends_narrow(node, groups, maximum_size):
        node = _try_epilogue(node, groups, maximum_size)


def _try_epilogue(node: CallNode, groups: Groups, maximum_size: int) -> CallNode | None:
    """Join the post-dominator of a group's result; the new result, or None."""
    path = _path_to_dominator(node, maximum_size)
    if path is None or node.dominator is None:
        return None
    if not is_epilogue(node, path, node.dominator):
        return None
    return _merge([node, *path, node.dominator], groups, maximum_size)


def _join_branches(node: CallNode, groups: Groups, maximum_size: int) -> None:
    """Let the kernels of convolutions and the like write their parts of a concatenation."""
    producers = [one for one in groups.producers_of(node) if is_branch(one, node, groups)]
    if not any(groups.of(one).anchor is not None for one in producers):
        return
    if groups.merged_size([*producers, node]) <= maximum_size:
        groups.merge([*producers, node])
        _grow_epilogue(node, groups, maximum_size)


def _grow_tail(node: CallNode, groups: Groups, maximum_size: int) -> None:
    result: CallNode | None = node
    while result is not None:
        sink = result.dominator
        group = groups.of(result)
        if sink is None or result.consumers != [sink] or not may_fuse(sink):
            return
        if not may_fuse(result) or not is_tail(group, sink):
            return
        result = _merge([result, sink], groups, maximum_size)
        groups.of(sink).closed = True


def _join_consumer(node: CallNode, groups: Groups, maximum_size: int) -> None:
    if groups.of(node).anchor is not None:
        return
    path = _path_to_dominator(node, maximum_size)
    if path is None or node.dominator is None:
        return
    if is_producer(node, path, node.dominator, groups):
        _merge([node, *path, node.dominator], groups, maximum_size)


def _join_statistics(node: CallNode, groups: Groups, maximum_size: int) -> None:
    """Let the kernel of a reduction compute what its results are combined with, step by step."""
    result: CallNode = node
    while (sink := result.dominator) is not None and not groups.of(result).closed:
        path = _path_to_dominator(result, maximum_size)
        if path is None or not all(is_row_step(one) for one in (*path, sink)):
            return
        together = [result, *path, sink]
        if groups.merged_size(together) > maximum_size or not keeps_to_rows(together, groups):
            return
        result = groups.merge(together).result


def _merge(nodes: list[CallNode], groups: Groups, maximum_size: int) -> CallNode | None:
    """Merge if the kernel stays within its limits; its result, or None."""
    if len(groups.anchors(nodes)) > 1 or groups.merged_size(nodes) > maximum_size:
        return None
    return groups.merge(nodes).result


def _path_to_dominator(node: CallNode, maximum_size: int) -> list[CallNode] | None:
    """All calls strictly between a call and its post-dominator; None if there are too many, or if
    one of them must not be fused."""
    sink = node.dominator
    if sink is None or not may_fuse(node) or not may_fuse(sink):
        return None
    between: list[CallNode] = []
    for inner in reached(_consumers_but(sink, node), partial(_consumers_but, sink)):
        if len(between) >= maximum_size or not may_fuse(inner):
            return None
        between.append(inner)
    return between


def _consumers_but(sink: CallNode, node: CallNode) -> list[CallNode]:
    return [consumer for consumer in node.consumers if consumer is not sink]
