"""Normalisations of rows, which read each row several times and need nothing else for it."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call
from relay_tune.op_rules.fusion.rule import FusionRule, Rows
from relay_tune.op_rules.matching import attribute, rank


def is_along_rows(call: Call) -> bool:
    """Whether a normalisation is along its last axis."""
    axis, dims = attribute(call, "axis", -1), rank(call)
    return bool(axis == -1 or (dims is not None and axis == dims - 1))


def _gives_rows(call: Call) -> frozenset[Rows]:
    return frozenset({Rows.WEIGHTS} if is_along_rows(call) else ())


def _takes_rows(call: Call) -> frozenset[Rows]:
    return frozenset({Rows.SCORES} if is_along_rows(call) else ())


RULES: Mapping[str, FusionRule] = {
    **dict.fromkeys(
        ("nn.softmax", "nn.log_softmax"),
        FusionRule(normalizes_rows=is_along_rows, gives_rows=_gives_rows, takes_rows=_takes_rows),
    ),
    "nn.layer_norm": FusionRule(normalizes_rows=is_along_rows),
}
