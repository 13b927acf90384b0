"""Products of matrices in kernels with the normalisation of their rows, as in attention."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call
from relay_tune.op_rules.fusion.rule import FusionRule, Rows
from relay_tune.op_rules.matching import attribute


def _gives_rows(_: Call) -> frozenset[Rows]:
    return frozenset({Rows.SCORES})


def _takes_rows(call: Call) -> frozenset[Rows]:
    return frozenset(() if attribute(call, "transpose_a", False) else {Rows.WEIGHTS})


RULES: Mapping[str, FusionRule] = {
    "nn.batch_matmul": FusionRule(gives_rows=_gives_rows, takes_rows=_takes_rows)
}
