"""Pooling in the kernel of the convolution whose windows it reads."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from relay_tune.ir.expr import Call
from relay_tune.op.nn.pool import pool_windows
from relay_tune.op_rules.fusion.rule import FusionRule, Rows
from relay_tune.op_rules.matching import static_shape


def _takes_rows(call: Call) -> frozenset[Rows]:
    return frozenset({Rows.WINDOWS} if _is_side_by_side(call) else ())


def _is_side_by_side(call: Call) -> bool:
    """Whether the windows of a pooling share no element and leave none of the border out."""
    data, result = static_shape(call.arguments[0]), static_shape(call)
    windows = pool_windows(call.attributes)
    if data is None or result is None or prod(result) * prod(windows.size) > prod(data):
        return False
    dense = all(step == 1 for step in windows.dilation)
    return dense and windows.strides == windows.size and not any(windows.before + windows.after)


RULES: Mapping[str, FusionRule] = dict.fromkeys(
    ("nn.max_pool2d", "nn.avg_pool2d"), FusionRule(takes_rows=_takes_rows)
)
