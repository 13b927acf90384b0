"""The concatenations of a body: those that exist, and more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.op_rules.matching import attribute, operator_call, rank
from relay_tune.op_rules.typed import call, tuple_of


class Concatenations:
    """Finds concatenations of given parts, so that parts are put after each other once."""

    def __init__(self, nodes: Iterable[Expr]) -> None:
        """Those that are among `nodes`."""
        self._known: dict[tuple[int, frozenset[Expr]], tuple[tuple[Expr, ...], Call]] = {}
        for node in nodes:
            joined = operator_call(node, "concatenate")
            parts = None if joined is None else joined.arguments[0]
            if joined is not None and isinstance(parts, Tuple) and (dims := rank(joined)):
                self._enter(parts.fields, attribute(joined, "axis") % dims, joined)

    def order(self, parts: Sequence[Expr], axis: int) -> list[int] | None:
        """The places of `parts` in a known concatenation of them along an axis, if there is one."""
        known = self._known.get((axis, frozenset(parts)))
        return None if known is None else [parts.index(part) for part in known[0]]

    def of(self, parts: Sequence[Expr], axis: int) -> Expr:
        """The concatenation of `parts` along an axis."""
        if len(parts) == 1:
            return parts[0]
        known = self._known.get((axis, frozenset(parts)))
        if known is not None and known[0] == tuple(parts):
            return known[1]
        joined = call("concatenate", tuple_of(parts), axis=axis)
        self._enter(tuple(parts), axis, joined)
        return joined

    def _enter(self, parts: tuple[Expr, ...], axis: int, joined: Call) -> None:
        if len(set(parts)) == len(parts):
            self._known.setdefault((axis, frozenset(parts)), (parts, joined))
