"""The values that integers can have, by what computes them.

    argmax(%x) over 10 elements                 0 .. 9
    floor_mod(%i, 8)                            0 .. 7
    where(less(%i, 3), argmax(%x), 20)          0 .. 20

Interval arithmetic; a range that its type cannot hold is left to the reader.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.op_rules.matching import attribute, static_shape
from relay_tune.op_rules.table import OperatorTable

Range: TypeAlias = tuple[int, int]
"""The least and the greatest value."""

RangeRule: TypeAlias = Callable[[Call, Mapping[Expr, Range]], tuple[Range | None, ...]]
"""rule(call, known ranges) -> the range of its result, or of each field; None: not known."""

Arithmetic: TypeAlias = Callable[[Range, Range], Range | None]


def result_ranges(node: Call, known: Mapping[Expr, Range]) -> tuple[Range | None, ...]:
    """The ranges of a call's result, or of its fields; () if its operator has no rule."""
    rule = RANGES.rule_of(node)
    return () if rule is None else rule(node, known)


def _of_data(node: Call, known: Mapping[Expr, Range]) -> tuple[Range | None, ...]:
    """All elements of the result are elements of the first argument."""
    return (known.get(node.arguments[0]),)


def _of_fields(node: Call, known: Mapping[Expr, Range]) -> tuple[Range | None, ...]:
    fields = node.arguments[0]
    parts = fields.fields if isinstance(fields, Tuple) else ()
    return (_union(known.get(part) for part in parts),)


def _of_choices(node: Call, known: Mapping[Expr, Range]) -> tuple[Range | None, ...]:
    return (_union(known.get(choice) for choice in node.arguments[1:]),)


def _of_positions(node: Call, known: Mapping[Expr, Range]) -> tuple[Range | None, ...]:
    return (_axis_positions(node),)


def _of_greatest(node: Call, known: Mapping[Expr, Range]) -> tuple[Range | None, ...]:
    """The greatest elements, their positions, or both."""
    match attribute(node, "ret_type"):
        case "both":
            return None, _axis_positions(node)
        case "indices":
            return (_axis_positions(node),)
        case _:
            return _of_data(node, known)


def _of_extremes(node: Call, known: Mapping[Expr, Range]) -> tuple[Range | None, ...]:
    shape = static_shape(node.arguments[0])
    if shape is None:
        return (None,)
    axes = attribute(node, "axis")
    given = range(len(shape)) if axes is None else (axes if isinstance(axes, tuple) else (axes,))
    if attribute(node, "exclude", False):
        inside = {axis % len(shape) for axis in given}
        given = tuple(axis for axis in range(len(shape)) if axis not in inside)
    return ((0, max(math.prod(shape[axis] for axis in given) - 1, 0)),)


def _clipped(node: Call, known: Mapping[Expr, Range]) -> tuple[Range | None, ...]:
    low, high = float(attribute(node, "a_min")), float(attribute(node, "a_max"))
    data = known.get(node.arguments[0])
    if data is None or math.isnan(low) or math.isnan(high):
        return (data,)
    least, most = (max(low, data[0]), min(high, data[1]))
    return ((math.ceil(least), math.floor(most)) if least <= most else None,)


def _axis_positions(node: Call) -> Range | None:
    shape = static_shape(node.arguments[0])
    if not shape:
        return None
    return 0, max(shape[attribute(node, "axis", -1)] - 1, 0)


def _union(parts: Iterable[Range | None]) -> Range | None:
    given = list(parts)
    known = [part for part in given if part is not None]
    if not known or len(known) != len(given):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _corners(operation: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    """The range of an operation whose extremes are at extremes of its operands."""

    def combined(left: Range, right: Range) -> Range:
        values = [operation(a, b) for a in left for b in right]
        return min(values), max(values)

    return combined


def _floor_mod(left: Range, right: Range) -> Range | None:
    return (0, right[1] - 1) if right[0] > 0 else None


def _truncated_mod(left: Range, right: Range) -> Range | None:
    if right[0] <= 0:
        return None
    most = right[1] - 1
    return (-most if left[0] < 0 else 0, most if left[1] > 0 else 0)


def _floor_divide(left: Range, right: Range) -> Range | None:
    return _corners(lambda a, b: a // b)(left, right) if right[0] > 0 else None


def _arithmetic(rule: Arithmetic) -> RangeRule:
    def ranges(node: Call, known: Mapping[Expr, Range]) -> tuple[Range | None, ...]:
        left, right = (known.get(argument) for argument in node.arguments)
        return (None if left is None or right is None else rule(left, right),)

    return ranges


_KEEPING = (
    *("reshape", "expand_dims", "squeeze", "transpose", "layout_transform", "reshape_like"),
    *("broadcast_to", "broadcast_to_like", "repeat", "tile", "reverse", "reverse_sequence"),
    *("strided_slice", "slice_like", "take", "gather", "gather_nd", "check_indices"),
    *("copy", "cast", "sort", "max", "min", "decisive"),
    *("dyn.reshape", "dyn.strided_slice", "dyn.broadcast_to", "dyn.tile"),
)

RANGES: OperatorTable[RangeRule] = OperatorTable(
    dict.fromkeys(_KEEPING, _of_data),
    dict.fromkeys(("concatenate", "stack"), _of_fields),
    dict.fromkeys(("topk", "dyn.topk"), _of_greatest),
    dict.fromkeys(("argmax", "argmin"), _of_extremes),
    {
        "argsort": _of_positions,
        "where": _of_choices,
        "clip": _clipped,
        "add": _arithmetic(_corners(lambda a, b: a + b)),
        "subtract": _arithmetic(_corners(lambda a, b: a - b)),
        "multiply": _arithmetic(_corners(lambda a, b: a * b)),
        "minimum": _arithmetic(_corners(min)),
        "maximum": _arithmetic(_corners(max)),
        "floor_mod": _arithmetic(_floor_mod),
        "mod": _arithmetic(_truncated_mod),
        "floor_divide": _arithmetic(_floor_divide),
    },
)
