"""Calls whose attributes say sizes or places, for a part of the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay_tune.ir.expr import Call
from relay_tune.ir.types import TensorType
from relay_tune.op.slicing import slice_positions
from relay_tune.op_rules.matching import attributes_of, static_shape
from relay_tune.op_rules.table import OperatorTable
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
