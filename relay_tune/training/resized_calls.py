"""What names of operators say of samples: attributes of sizes and positions, and lines of axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.types import TensorType
from relay_tune.op.elements import wide_dtype
from relay_tune.op.slicing import slice_positions
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.table import OperatorTable
from relay_tune.op_rules.typed import call, constant_of, recall
from relay_tune.training.optimisers import converted
from relay_tune.training.sample_axes import Samples, Spread

Changes = Mapping[str, object]
"""Attributes by name."""

Resizing = Callable[[Call, TensorType, Spread, int], Changes]
"""rule(call, the type of its result for a slice, how its data depend on samples, parts)."""


def _slice(node: Call, result: TensorType, data: Spread, parts: int) -> Changes:
    """A range of a folded axis (time, sample) begins and ends at a time."""
    cuts = list(slice_positions(attributes_of(node), static_shape(node.arguments[0]) or ()))
    if not isinstance(data, Samples) or not cuts or cuts[data.axis].step != 1:
        return {}
    cut = cuts[data.axis]
    cuts[data.axis] = range(cut.start // parts, cut.stop // parts)
    if any(each.step < 0 for each in cuts):
        return {}
    return {
        "begin": tuple(each.start for each in cuts),
        "end": tuple(each.stop for each in cuts),
        "strides": tuple(each.step for each in cuts),
        "axes": None,
        "slice_mode": "end",
    }


RESIZINGS: OperatorTable[Resizing] = OperatorTable(
    {
        "reshape": lambda node, result, data, parts: {"newshape": result.shape},
        "broadcast_to": lambda node, result, data, parts: {"shape": result.shape},
        "strided_slice": _slice,
    }
)
"""What changes in the attributes of calls."""

LINES: OperatorTable[str] = OperatorTable(
    dict.fromkeys(("sort", "argsort", "topk", "cumsum", "cumprod"), "axis")
)
"""Procedures that treat each line along an axis by itself, and the attribute that says which."""


def with_quotient(node: Expr) -> Expr:
    """A call that divides one total over samples by another, as two of them."""
    rule = QUOTIENTS.rule_of(node)
    return node if rule is None or not isinstance(node, Call) else rule(node)


def _nll_loss(node: Call) -> Expr:
    """The sum of losses by that of the weights: that of losses which are 1 each."""
    data, targets, weights = node.arguments
    type_, shape = tensor_type(data), static_shape(data)
    if attributes_of(node).reduction != "mean" or type_ is None or shape is None:
        return node
    wide = wide_dtype(type_.dtype)
    ones = call("full", constant_of(np.asarray(-1, wide)), shape=shape, dtype=wide)
    total, divisor = (
        recall(node, (each, targets, converted(weights, wide)), reduction="sum")
        for each in (converted(data, wide), ones)
    )
    return converted(call("divide", total, divisor), type_.dtype)


QUOTIENTS: OperatorTable[Callable[[Call], Expr]] = OperatorTable({"nn.nll_loss": _nll_loss})
"""Operators that divide one total over samples by another: as two of them."""
