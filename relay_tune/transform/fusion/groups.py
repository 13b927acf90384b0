"""Groups of calls that become one kernel, as a union-find structure."""

from __future__ import annotations

from collections.abc import Iterable

from relay_tune.ir.expr import Expr
from relay_tune.ir.operator import FusionKind
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.fusion.call_graph import CallNode, argument_leaves

ANCHORS = (FusionKind.REDUCTION, FusionKind.OUTPUT_FUSABLE, FusionKind.OPAQUE, FusionKind.TUPLE)
"""Kinds of which a kernel has one call, one in each branch of a concatenation, or a row chain."""


@dataclass(eq=False, slots=True)
class Group:
    """The calls of one kernel.

    Attributes:
        result: the last call, the only one whose value leaves the kernel.
        anchor: the last call that shapes the kernel (a convolution, a reduction), if there is one.
        size: the number of calls.
        closed: whether the kernel's result is already moved to other positions (padded, permuted).
    """

    result: CallNode
    anchor: CallNode | None
    size: int = 1
    closed: bool = False


class Groups:
    """Which call belongs to which group."""

    def __init__(self, nodes: list[CallNode]) -> None:
        self._nodes: dict[Expr, CallNode] = {node.call: node for node in nodes}
        self._parent = list(range(len(nodes)))
        self._groups = [Group(node, node if node.kind in ANCHORS else None) for node in nodes]

    def of(self, node: CallNode) -> Group:
        """The group of a call."""
        return self._groups[self._root(node.position)]

    def is_result(self, node: CallNode) -> bool:
        """Whether the call's value leaves its kernel."""
        return self.of(node).result is node

    def producers_of(self, node: CallNode) -> list[CallNode]:
        """The operator calls that a call reads, fields of a tuple each for itself."""
        leaves = dict.fromkeys(argument_leaves(node.call))
        return [self._nodes[leaf] for leaf in leaves if leaf in self._nodes]

    def merged_size(self, nodes: Iterable[CallNode]) -> int:
        """How many calls the groups of `nodes` have together."""
        return sum(group.size for group in {self.of(node) for node in nodes})

    def anchors(self, nodes: Iterable[CallNode]) -> set[CallNode]:
        """The anchors of the groups of `nodes`."""
        found = (self.of(node).anchor for node in nodes)
        return {anchor for anchor in found if anchor is not None}

    def merge(self, nodes: list[CallNode]) -> Group:
        """Make one group of the groups of `nodes`."""
        size, anchors = self.merged_size(nodes), self.anchors(nodes)
        members = {self.of(node) for node in nodes}
        result = max((group.result for group in members), key=lambda node: node.position)
        anchor = max(anchors, key=lambda node: node.position, default=None)
        merged = Group(result, anchor, size, any(g.closed for g in members))
        target = self._root(result.position)
        for node in nodes:
            self._parent[self._root(node.position)] = target
        self._groups[target] = merged
        return merged

    def _root(self, position: int) -> int:
        while self._parent[position] != position:
            self._parent[position] = self._parent[self._parent[position]]
            position = self._parent[position]
        return position
