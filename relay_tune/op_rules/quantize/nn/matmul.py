"""Affine types through matrix products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.ir.expr import Call
from relay_tune.op_rules.matching import rank
from relay_tune.op_rules.quantize.affine import Affine
from relay_tune.op_rules.quantize.nn.layers import integer_layer
from relay_tune.op_rules.quantize.rule import AffineRule, Given


def _matmul(call_: Call, given: Sequence[Given]) -> Affine | None:
    """A product with one constant matrix."""
    return integer_layer(call_, given) if rank(call_.arguments[1]) == 2 else None


RULES: Mapping[str, AffineRule] = dict.fromkeys(("nn.dense", "nn.matmul"), _matmul)
