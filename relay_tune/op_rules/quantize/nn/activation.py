"""Affine types through activations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.ir.expr import Call
from relay_tune.op_rules.quantize.affine import Affine
from relay_tune.op_rules.quantize.rule import AffineRule, Given, first
from relay_tune.op_rules.typed import call, constant_of


def _relu(call_: Call, given: Sequence[Given]) -> Affine | None:
    """No less than what zero is stored as."""
    data = first(given)
    if data is None:
        return None
    zero = constant_of(data.aligned(data.zero).astype(data.dtype))
    return data.like(call("maximum", data.stored, zero))


RULES: Mapping[str, AffineRule] = {"nn.relu": _relu}
