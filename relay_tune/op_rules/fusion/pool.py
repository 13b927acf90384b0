"""Pooling in the kernel of the convolution whose windows it reads."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from relay_tune.ir.expr import Call
from relay_tune.op.nn.pool import pool_windows
from relay_tune.op_rules.fusion.rule import FusionRule, Rows
from relay_tune.op_rules.matching import attribute, static_shape


def _takes_rows(call: Call) -> frozenset[Rows]:
    return frozenset({Rows.WINDOWS} if _is_side_by_side(call) else ())


def _is_side_by_side(call: Call) -> bool:
    """Whether the windows of a pooling share no element and leave none of the border out."""
    windows = pool_windows(call.attributes)
    dense = all(step == 1 for step in windows.dilation)
    if not dense or windows.strides != windows.size or any(windows.before + windows.after):
        return False
    data, result = static_shape(call.arguments[0]), static_shape(call)
    if data is None or result is None:
        return not attribute(call, "ceil_mode")
    return prod(result) * prod(windows.size) <= prod(data)


RULES: Mapping[str, FusionRule] = dict.fromkeys(
    ("nn.max_pool2d", "nn.avg_pool2d"), FusionRule(takes_rows=_takes_rows)
)
