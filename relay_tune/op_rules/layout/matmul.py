"""Dense layers after flattening."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.layout.rule import LayoutRule
from relay_tune.op_rules.layout.versions import Version, Versions
from relay_tune.op_rules.matching import attribute
from relay_tune.op_rules.typed import constant_of, recall


def dense(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A dense layer on a flattened value takes the rows of its constant weight in that order."""
    data, weight = call_.arguments[:2]
    if not versions.was_flattened(data) or not isinstance(weight, Constant):
        return None
    if versions.has(data, Version.ORIGINAL) or attribute(call_, "transpose_a", False):
        return None
    is_transposed = attribute(call_, "transpose_b", True)
    _, *spatial, channels = versions.unflattened[data]
    order = np.arange(weight.data.shape[1 if is_transposed else 0])
    order = np.moveaxis(order.reshape(channels, *spatial), 0, -1).reshape(-1)
    reordered = np.take(weight.data, order, axis=1 if is_transposed else 0)
    flat = versions.existing[data][Version.FLAT_CHANNELS_LAST]
    return {Version.ORIGINAL: recall(call_, (flat, constant_of(reordered)))}


RULES: Mapping[str, LayoutRule] = dict.fromkeys(("nn.dense", "nn.matmul"), LayoutRule(dense))
