"""The operator calls of one function as a graph, and what post-dominates what.

A node post-dominates another if every path from the other to a use that is no operator call goes
through it. After Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001), section 3,
on a graph that is walked from its results, so one sweep is enough.
"""

from __future__ import annotations

from dataclasses import field

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.reached import reached
from relay_tune.ir.traversal import children, post_order
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.fusion.rule import FusionRule
from relay_tune.op_rules.fusion.table import fusion_rule
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import same_scope

FURTHEST_SEARCH = 256
"""Post-dominators that are further away than this many steps do not matter to fusion."""


@dataclass(eq=False, slots=True)
class CallNode:
    """One operator call.

    Attributes:
        call: the call.
        position: its index in the order of evaluation.
        operator: that is called.
        rule: what fusion knows of the operator.
        kind: how the call fuses.
        consumers: the operator calls that read it.
        escapes: whether something else reads it too, so that it must exist in memory.
        dominator: the nearest call that post-dominates it, or None.
        depth: the length of its chain of post-dominators.
    """

    call: Call
    position: int
    operator: Operator
    rule: FusionRule
    kind: FusionKind
    consumers: list[CallNode] = field(default_factory=list)
    escapes: bool = False
    dominator: CallNode | None = None
    depth: int = 0


def call_graph(body: Expr) -> list[CallNode]:
    """The operator calls of `body` in order of evaluation, nested functions left out.

    A tuple that is an argument of an operator is seen through: its fields are what is read.
    """
    nodes: dict[Expr, CallNode] = {}
    for expr in post_order(body, enter=same_scope):
        if isinstance(expr, Call) and isinstance(expr.callee, Operator):
            rule = fusion_rule(expr)
            kind = _kind(expr, expr.callee, rule)
            nodes[expr] = CallNode(expr, len(nodes), expr.callee, rule, kind)
            _connect(nodes[expr], nodes)
        elif not isinstance(expr, Tuple):
            _escape(children(expr), nodes)
    _escape((body,), nodes)
    _escape_through_tuples(body, nodes)
    ordered = list(nodes.values())
    _find_dominators(ordered)
    return ordered


def _kind(call: Call, operator: Operator, rule: FusionRule) -> FusionKind:
    """How a call fuses; one whose result is no tensor, or finds its sizes, does not."""
    type_ = call.type
    if not isinstance(type_, TensorType):
        return FusionKind.OPAQUE
    if operator.sizes is not None and UNKNOWN in type_.shape:
        return FusionKind.OPAQUE
    return operator.kind if rule.kind is None else rule.kind(call)


def is_operator_call(expr: Expr) -> bool:
    """Whether `expr` calls an operator."""
    return isinstance(expr, Call) and isinstance(expr.callee, Operator)


def argument_leaves(call: Call) -> list[Expr]:
    """The values that a call reads, with tuples that are written out replaced by their fields."""
    leaves: list[Expr] = []
    pending = list(reversed(call.arguments))
    while pending:
        argument = pending.pop()
        if isinstance(argument, Tuple):
            pending.extend(reversed(argument.fields))
        else:
            leaves.append(argument)
    return leaves


def _connect(node: CallNode, nodes: dict[Expr, CallNode]) -> None:
    for leaf in dict.fromkeys(argument_leaves(node.call)):
        if leaf in nodes:
            nodes[leaf].consumers.append(node)


def _escape(values: tuple[Expr, ...], nodes: dict[Expr, CallNode]) -> None:
    for value in values:
        if value in nodes:
            nodes[value].escapes = True


def _escape_through_tuples(body: Expr, nodes: dict[Expr, CallNode]) -> None:
    """The fields of tuples that anything but an operator reads have to exist in memory."""
    pending = [body]
    for expr in post_order(body, enter=same_scope):
        if not is_operator_call(expr) and not isinstance(expr, Tuple):
            pending.extend(children(expr) if same_scope(expr) else ())
    for expr in reached(pending, lambda expr: expr.fields if isinstance(expr, Tuple) else ()):
        if isinstance(expr, Tuple):
            _escape(expr.fields, nodes)


def _find_dominators(nodes: list[CallNode]) -> None:
    for node in reversed(nodes):
        if node.escapes or not node.consumers:
            continue
        common: CallNode | None = node.consumers[0]
        for consumer in node.consumers[1:]:
            common = _common_dominator(common, consumer)
        node.dominator = common
        node.depth = 0 if common is None else common.depth + 1


def _common_dominator(first: CallNode | None, second: CallNode | None) -> CallNode | None:
    for _ in range(FURTHEST_SEARCH):
        if first is second or first is None or second is None:
            return first if first is second else None
        if first.depth >= second.depth:
            first = first.dominator
        else:
            second = second.dominator
    return None
