"""Padding as the last step of the kernel that computes what is padded."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call
from relay_tune.op_rules.fusion.rule import FusionRule, Stored
from relay_tune.op_rules.matching import attribute


def _is_tail(call: Call, stored: Stored) -> bool:
    return not stored.moved and attribute(call, "pad_mode", "constant") == "constant"


RULES: Mapping[str, FusionRule] = {"nn.pad": FusionRule(is_tail=_is_tail)}
