"""Layers in bfloat16: their data and weights are rounded, their sums stay float32.

before:  nn.dense(%x, W)
after:   nn.dense(cast(cast(%x, dtype="bfloat16"), dtype="float32"), cast(W', dtype="float32"))

W' is bfloat16. A build stores what is rounded so, and multiplies it so where the machine does that
faster (`relay_tune.transform.keep_in_bfloat16`).
"""

from __future__ import annotations

from collections.abc import Collection

from relay_tune.ir.expr import Constant, Expr
from relay_tune.ir.module import Module
from relay_tune.op_rules.fold.layers import weighted_layer
from relay_tune.op_rules.typed import call, constant_of, recall
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.transform.module_pass import rewrite_calls

NARROW, WIDE = "bfloat16", "float32"


def with_rounded_layers(module: Module, weights: Collection[Constant]) -> Module:
    """The module with the layers of these weights in bfloat16."""
    chosen = set(weights)
    known: dict[Expr, Expr] = {}

    def once(data: Expr) -> Expr:
        """What layers read in place of data; one conversion for all of them."""
        if data not in known:
            known[data] = rounded(data)
        return known[data]

    def visit(node: Expr) -> Expr:
        found = weighted_layer(node)
        if found is None or found.weight not in chosen:
            return node
        if found.weight not in known:
            narrow = constant_of(found.weight.data.astype(numpy_dtype(NARROW)))
            known[found.weight] = call("cast", narrow, dtype=WIDE)
        return recall(found.layer, (once(found.layer.arguments[0]), known[found.weight]))

    return rewrite_calls(module, visit) if chosen else module


def rounded(data: Expr) -> Expr:
    """Data of float32 with the digits that bfloat16 has (to nearest, ties to even)."""
    return call("cast", call("cast", data, dtype=NARROW), dtype=WIDE)
