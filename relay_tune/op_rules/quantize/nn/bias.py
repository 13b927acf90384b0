"""Affine types through biases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.ir.expr import Call
from relay_tune.op_rules.matching import attribute, rank
from relay_tune.op_rules.quantize.affine import Affine
from relay_tune.op_rules.quantize.arithmetic import with_bias
from relay_tune.op_rules.quantize.rule import AffineRule, Given


def _bias_add(call_: Call, given: Sequence[Given]) -> Affine | None:
    sums, bias = given
    dims = rank(call_)
    if not isinstance(sums, Affine) or not isinstance(bias, Affine) or dims is None:
        return None
    numbers = bias.integers
    if numbers is None or not numbers.size:
        return None
    return with_bias(sums, numbers, bias.scale, attribute(call_, "axis") % dims)


RULES: Mapping[str, AffineRule] = {"nn.bias_add": _bias_add}
