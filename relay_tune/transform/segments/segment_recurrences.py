"""Divide the steps of recurrences into segments, of which a backward sweep needs one at a time.

For programs whose memory is limited: what is computed again takes time. Without segments, all that
the steps of a recurrence compute waits for the backward sweep, and what sums over all of them, the
gradient of its weight, reads the rows of all.
"""

from __future__ import annotations

from typing import ClassVar

from relay_tune.ir.expr import Expr
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import map_scopes, replace_nodes, same_scope
from relay_tune.transform.segments.block_orders import with_own_orders
from relay_tune.transform.segments.long_rows import divided_rows
from relay_tune.transform.segments.long_sums import divided_sums
from relay_tune.transform.segments.recurrences import recurrences
from relay_tune.transform.segments.repeated_segments import with_repeated_segments


@dataclass(frozen=True)
class SegmentRecurrences:
    """Divides recurrences whose steps are written out.

    Fields:
        segments: how many; 1 leaves all as it is.
    """

    name: ClassVar[str] = "segment_recurrences"
    segments: int = 1

    def __call__(self, module: Module) -> Module:
        """The module with recurrences in segments."""
        return module if self.segments < 2 else map_scopes(module, self._segmented)

    def _segmented(self, body: Expr) -> Expr:
        nodes = list(post_order(body, enter=same_scope))
        found = recurrences(nodes, self.segments)
        if not found:
            return body
        body = with_own_orders(body)
        nodes = list(post_order(body, enter=same_scope))
        found = recurrences(nodes, self.segments)
        body = replace_nodes(body, divided_sums(nodes, found))
        nodes = list(post_order(body, enter=same_scope))
        found = recurrences(nodes, self.segments)
        body = replace_nodes(body, divided_rows(nodes, _readers(nodes), found))
        done = 0
        while True:
            nodes = list(post_order(body, enter=same_scope))
            found = recurrences(nodes, self.segments)
            if done == len(found):
                return body
            body = with_repeated_segments(body, nodes, found[done])
            done += 1


def _readers(nodes: list[Expr]) -> dict[Expr, list[Expr]]:
    found: dict[Expr, list[Expr]] = {}
    for node in nodes:
        for below in dict.fromkeys(children(node)) if same_scope(node) else ():
            found.setdefault(below, []).append(node)
    return found
