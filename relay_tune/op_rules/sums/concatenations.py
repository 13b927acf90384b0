"""The concatenations of a body: those that exist, and more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.op_rules.matching import attribute, operator_call, rank
from relay_tune.op_rules.typed import call, tuple_of

MOST_PARTS = 128
"""More parts are put together in groups: a kernel has a loop for each part, up to a limit."""


class Concatenations:
    """Finds concatenations of given parts, so that parts are put after each other once."""

    def __init__(self, nodes: Iterable[Expr]) -> None:
        """Those that are among `nodes`, in which operands come first."""
        self._known: dict[tuple[int, frozenset[Expr]], tuple[tuple[Expr, ...], Expr]] = {}
        self._parts: dict[tuple[int, Expr], tuple[Expr, ...]] = {}
        for node in nodes:
            joined = operator_call(node, "concatenate")
            fields = None if joined is None else joined.arguments[0]
            if joined is not None and isinstance(fields, Tuple) and (dims := rank(joined)):
                axis = attribute(joined, "axis") % dims
                parts = (self._parts.get((axis, field), (field,)) for field in fields.fields)
                self._enter(tuple(part for group in parts for part in group), axis, joined)

    def order(self, parts: Sequence[Expr], axis: int) -> list[int] | None:
        """The order of `parts` in a known concatenation along an axis, if there is one."""
        known = self._known.get((axis, frozenset(parts)))
        positions = {part: index for index, part in enumerate(parts)}
        return None if known is None else [positions[part] for part in known[0]]

    def of(self, parts: Sequence[Expr], axis: int) -> Expr:
        """The concatenation of `parts` along an axis."""
        if len(parts) == 1:
            return parts[0]
        known = self._known.get((axis, frozenset(parts)))
        if known is not None and known[0] == tuple(parts):
            return known[1]
        joined = _concatenated(parts, axis)
        self._enter(tuple(parts), axis, joined)
        return joined

    def _enter(self, parts: tuple[Expr, ...], axis: int, joined: Call) -> None:
        """One in which a part is twice has no order to take, and stays a part itself."""
        if len(set(parts)) == len(parts):
            self._parts[axis, joined] = parts
            self._known.setdefault((axis, frozenset(parts)), (parts, joined))


def _concatenated(parts: Sequence[Expr], axis: int) -> Call:
    """A call on all parts, or on groups of them."""
    if len(parts) <= MOST_PARTS:
        return call("concatenate", tuple_of(parts), axis=axis)
    size = max(MOST_PARTS, -(-len(parts) // MOST_PARTS))
    groups = [
        _concatenated(parts[begin : begin + size], axis) for begin in range(0, len(parts), size)
    ]
    return _concatenated(groups, axis)
