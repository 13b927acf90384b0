"""Clips of what is clipped already."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attribute, operator_call
from relay_tune.op_rules.simplify.rounding import drop_repeated
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import call


def merge_clips(call_: Call) -> Expr | None:
    """clip(clip(x, a, b), c, d) is clip(x, max(a, c), min(b, d)) if that range is not empty."""
    inner = operator_call(call_.arguments[0], "clip")
    if inner is None:
        return None
    low = max(attribute(inner, "a_min"), attribute(call_, "a_min"))
    high = min(attribute(inner, "a_max"), attribute(call_, "a_max"))
    if low > high:
        return None
    return call("clip", inner.arguments[0], a_min=low, a_max=high)


def relu_then_clip(call_: Call) -> Expr | None:
    """clip(relu(x), a, b) is clip(x, max(a, 0), b) for b >= 0."""
    inner = operator_call(call_.arguments[0], "nn.relu")
    if inner is None or attribute(call_, "a_max") < 0:
        return None
    low = max(attribute(call_, "a_min"), 0.0)
    return call("clip", inner.arguments[0], a_min=low, a_max=attribute(call_, "a_max"))


def clip_then_relu(call_: Call) -> Expr | None:
    """relu(clip(x, a, b)) is clip(x, max(a, 0), b) for b >= 0."""
    inner = operator_call(call_.arguments[0], "clip")
    if inner is None or attribute(inner, "a_max") < 0:
        return None
    low = max(attribute(inner, "a_min"), 0.0)
    return call("clip", inner.arguments[0], a_min=low, a_max=attribute(inner, "a_max"))


RULES: RuleTable = {
    "clip": (merge_clips, relu_then_clip),
    "nn.relu": (drop_repeated, clip_then_relu),
}
