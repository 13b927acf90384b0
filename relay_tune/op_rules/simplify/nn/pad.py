"""Pads of nothing, and pads of pads."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attribute, operator_call
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import recall


def drop_empty_pad(call_: Call) -> Expr | None:
    """A pad of nothing is its argument; one that cuts off what it adds elsewhere moves elements."""
    is_empty = not any(map(any, attribute(call_, "pad_width")))
    return call_.arguments[0] if is_empty else None


def merge_pads(call_: Call) -> Expr | None:
    """Two constant pads with the same value are one."""
    inner = operator_call(call_.arguments[0], "nn.pad")
    if inner is None or not _same_constant_pad(call_, inner):
        return None
    pairs = zip(attribute(inner, "pad_width"), attribute(call_, "pad_width"), strict=True)
    widths = tuple((a + c, b + d) for (a, b), (c, d) in pairs)
    return recall(call_, (inner.arguments[0], *call_.arguments[1:]), pad_width=widths)


def _same_constant_pad(first: Call, second: Call) -> bool:
    modes = {attribute(pad, "pad_mode", "constant") for pad in (first, second)}
    widths = [*attribute(first, "pad_width"), *attribute(second, "pad_width")]
    same_value = attribute(first, "pad_value") == attribute(second, "pad_value") and all(
        a is b for a, b in zip(first.arguments[1:], second.arguments[1:], strict=True)
    )
    return modes == {"constant"} and same_value and all(min(pair) >= 0 for pair in widths)


RULES: RuleTable = {"nn.pad": (drop_empty_pad, merge_pads)}
