"""Positions of the largest and smallest elements of what keeps the order of elements."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attribute, operator_call, operator_name, static_shape
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import recall

_INCREASING = {"argmax": ("nn.softmax", "nn.log_softmax"), "argmin": ("nn.log_softmax",)}
"""Operators whose results have, but for rounding, the order of their data along the attribute
`axis`; the smallest results of softmax are all zero."""


def of_increasing(call_: Call) -> Expr | None:
    """argmax(nn.log_softmax(x, axis=1), axis=1) is argmax(x, axis=1).

    Elements that are nearer to each other than results are rounded stay apart, and the position is
    another one for a row with infinities or NaN: this is not exact.
    """
    inner = operator_call(call_.arguments[0], *_INCREASING[operator_name(call_) or ""])
    shape = None if inner is None else static_shape(inner)
    if inner is None or shape is None:
        return None
    kept = attribute(inner, "axis") % len(shape)
    if any(shape[axis] > 1 for axis in _reduced(call_, len(shape)) if axis != kept):
        return None
    found = recall(call_, (inner.arguments[0],))
    return found if found.type == call_.type else None


def _reduced(call_: Call, dims: int) -> set[int]:
    """The axes that are searched together."""
    given = attribute(call_, "axis")
    axes = range(dims) if given is None else given if isinstance(given, tuple) else (given,)
    found = {axis % dims for axis in axes}
    return set(range(dims)) - found if attribute(call_, "exclude", False) else found


RULES: RuleTable = dict.fromkeys(_INCREASING, (of_increasing,))
