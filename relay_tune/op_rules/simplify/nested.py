"""Calls of calls of the same kind, of which one is enough, and those that change nothing."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attribute, operator_call, operator_name, tensor_type
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import call, recall


def drop_double_negation(call_: Call) -> Expr | None:
    """-(-x) is x."""
    inner = operator_call(call_.arguments[0], "negative")
    return None if inner is None else inner.arguments[0]


def drop_repeated(call_: Call) -> Expr | None:
    """f(f(x)) is f(x) for relu, abs, ceil, floor, round, trunc."""
    return operator_call(call_.arguments[0], operator_name(call_) or "")


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


RULES: RuleTable = {
    "negative": (drop_double_negation,),
    **dict.fromkeys(("abs", "ceil", "floor", "round", "trunc"), (drop_repeated,)),
    "cast": (drop_identity_cast, merge_casts),
    "clip": (merge_clips, relu_then_clip),
    "nn.relu": (drop_repeated, clip_then_relu),
    "nn.pad": (drop_empty_pad, merge_pads),
}
