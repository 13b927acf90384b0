"""Values that an activation passes on more than once.

A sum whose terms are collected must not be: if `%s` were used in `add(%s, %s)`, and that in the
same way, n steps would collect 2**n terms.

Whoever takes another field of a tuple, or of a constructor that is matched, uses another value.
Branches of which one alone is taken may use one value each. What only reads elements does not pass
a value on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TypeAlias

from relay_tune.ir.expr import (
    Call,
    ConstructorPattern,
    Expr,
    Function,
    Match,
    Pattern,
    TupleGetItem,
    TuplePattern,
    VarPattern,
)
from relay_tune.ir.expression_scopes import ExpressionScope
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.op_rules.row_sums import addends, is_zero
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.branches.activation import branch_plan, used_nodes
from relay_tune.transform.module_pass import same_scope

_Path: TypeAlias = tuple[object, ...]
"""How a value is reached: indices of tuples, and fields of constructors."""


@dataclass(frozen=True, slots=True)
class _Use:
    """A value that is passed on, and the branch in which that is."""

    path: _Path
    scope: ExpressionScope
    node: Expr


def repeated_values(body: Expr) -> Iterator[Expr]:
    """The expressions whose values another use on the same way passes on, too."""
    yield from _repeated(body)
    for node in post_order(body, enter=lambda node: not is_opaque_function(node)):
        if isinstance(node, Function) and not node.is_primitive:
            yield from _repeated(node.body)


def _repeated(body: Expr) -> Iterator[Expr]:
    """Those of one activation."""
    nodes = list(post_order(body, enter=same_scope))
    origins = _Origins(nodes)
    plan = branch_plan(body)
    uses: dict[Expr, list[_Use]] = {}
    for node in nodes:
        for index, child in enumerate(used_nodes(node)):
            if _passes_on(node, index) and not is_zero(child):
                root, path = origins.of(child)
                use = _Use(path, plan.scope_of_use(node, index), child)
                uses.setdefault(root, []).append(use)
    for found in uses.values():
        for one, other in combinations(found, 2):
            if _overlap(one, other):
                yield max(one, other, key=lambda use: len(use.path)).node


def _passes_on(node: Expr, index: int) -> bool:
    match node:
        case TupleGetItem():
            return False
        case Match():
            return index > 0
        case Call(callee=Operator()):
            return index > 0 and addends(node) is not None
        case Call():
            return index > 0
        case _:
            return True


def _overlap(one: _Use, other: _Use) -> bool:
    """Whether one activation may pass on one value, or a part of it, in both ways."""
    length = min(len(one.path), len(other.path))
    if one.path[:length] != other.path[:length]:
        return False
    depth = min(one.scope.depth, other.scope.depth)
    return one.scope.ancestor(depth) is other.scope.ancestor(depth)


class _Origins:
    """Of what value an expression is a part."""

    def __init__(self, nodes: list[Expr]) -> None:
        self._known: dict[Expr, tuple[Expr, _Path]] = {}
        for node in reversed(nodes):  # outer matches first
            if isinstance(node, Match):
                for clause in node.clauses:
                    self._bind(clause.pattern, node.value)

    def of(self, node: Expr) -> tuple[Expr, _Path]:
        """The value that an expression is a part of, and where it lies in it."""
        indices: list[object] = []
        while isinstance(node, TupleGetItem):
            indices.append(node.index)
            node = node.tuple_value
        root, path = self._known.get(node, (node, ()))
        return root, (*path, *reversed(indices))

    def _bind(self, pattern: Pattern, value: Expr) -> None:
        root, path = self.of(value)
        pending: list[tuple[Pattern, _Path]] = [(pattern, path)]
        while pending:
            part, steps = pending.pop()
            match part:
                case VarPattern():
                    self._known[part.var] = root, steps
                case TuplePattern():
                    pending += ((p, (*steps, i)) for i, p in enumerate(part.patterns))
                case ConstructorPattern():
                    name = part.constructor.name
                    pending += ((p, (*steps, (name, i))) for i, p in enumerate(part.patterns))
