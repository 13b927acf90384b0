"""Operators that change nothing when they are applied again, or undo themselves."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import operator_call, operator_name
from relay_tune.op_rules.simplify.rule import RuleTable


def drop_double_negation(call_: Call) -> Expr | None:
    """-(-x) is x."""
    inner = operator_call(call_.arguments[0], "negative")
    return None if inner is None else inner.arguments[0]


def drop_repeated(call_: Call) -> Expr | None:
    """f(f(x)) is f(x) for relu, abs, ceil, floor, round, trunc."""
    return operator_call(call_.arguments[0], operator_name(call_) or "")


RULES: RuleTable = {
    "negative": (drop_double_negation,),
    **dict.fromkeys(("abs", "ceil", "floor", "round", "trunc"), (drop_repeated,)),
}
