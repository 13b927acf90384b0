"""Casts that change nothing, and casts of casts."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import operator_call, tensor_type
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import recall


def drop_identity_cast(call_: Call) -> Expr | None:
    """A cast to the type that the elements have already is its argument, whatever its shape is."""
    before, after = tensor_type(call_.arguments[0]), tensor_type(call_)
    if before is None or after is None or before.dtype != after.dtype:
        return None
    return call_.arguments[0]


def merge_casts(call_: Call) -> Expr | None:
    """cast(cast(x, wider), t) is cast(x, t) where the first cast loses nothing."""
    inner = operator_call(call_.arguments[0], "cast")
    source = None if inner is None else tensor_type(inner.arguments[0])
    middle = None if inner is None else tensor_type(inner)
    if inner is None or source is None or middle is None:
        return None
    if (source.dtype, middle.dtype) not in LOSSLESS_CASTS:
        return None
    return recall(call_, (inner.arguments[0],))


LOSSLESS_CASTS = frozenset(
    {
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float16", "float64"),
        ("float32", "float64"),
        ("int8", "int32"),
        ("uint8", "int32"),
        ("int8", "int64"),
        ("uint8", "int64"),
        ("int16", "int32"),
        ("int32", "int64"),
        ("bool", "int32"),
        ("bool", "float32"),
        ("bool", "int64"),
    }
)


RULES: RuleTable = {"cast": (drop_identity_cast, merge_casts)}
