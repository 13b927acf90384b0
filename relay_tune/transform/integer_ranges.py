"""The values that integer tensors can have, as far as the program shows it.

    argmax(%x) over 10 elements                 0 .. 9
    floor_mod(%i, 8)                            0 .. 7
    where(less(%i, 3), argmax(%x), 20)          0 .. 20

Interval arithmetic over expressions; what nothing is known of has no range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import attribute, operator_name, static_shape, tensor_type
from relay_tune.transform.module_pass import same_scope

Range = tuple[int, int]
"""The least and the greatest value."""

_KEEPING = frozenset(
    "reshape expand_dims squeeze transpose broadcast_to strided_slice reverse repeat tile copy "
    "take gather gather_nd layout_transform check_indices sort max min dyn.reshape "
    "dyn.strided_slice dyn.broadcast_to dyn.tile reshape_like broadcast_to_like slice_like "
    "reverse_sequence".split()
)
"""All elements of the result are elements of the first argument."""

_JOINING = frozenset({"concatenate", "stack"})

_POSITIONS = frozenset({"argsort", "topk", "dyn.topk"})


def integer_ranges(body: Expr) -> dict[Expr, Range]:
    """The ranges of the nodes of a function's body of which one is known."""
    bindings: dict[Expr, Expr] = {}
    found: dict[Expr, Range] = {}
    for node in post_order(body, enter=same_scope):
        if isinstance(node, Let):
            bindings[node.var] = node.value
    for node in post_order(body, enter=same_scope):
        range_ = _range(node, found, bindings)
        if range_ is not None:
            found[node] = range_
    return found


def _range(node: Expr, found: Mapping[Expr, Range], bindings: Mapping[Expr, Expr]) -> Range | None:
    type_ = tensor_type(node)
    limits = None if type_ is None else _limits(type_.dtype)
    match node:
        case Var() if node in bindings:
            return found.get(bindings[node], limits)
        case Let():
            return found.get(node.body)
        case Constant():
            return _of_data(node.data)
        case TupleGetItem():
            return _of_field(node, found) or limits
        case Call():
            given = _of_call(node, found)
            return _inside(given, limits) if limits is not None else None
        case _:
            return limits


def _limits(dtype: str) -> Range | None:
    """The range of an integer type; None of other types."""
    if dtype == "bool":
        return 0, 1
    if not dtype.startswith(("int", "uint")):
        return None
    bits = int(dtype.lstrip("uint"))
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _inside(given: Range | None, limits: Range) -> Range:
    """A range that its type can hold; what does not fit wraps around to any value."""
    if given is None or given[0] < limits[0] or given[1] > limits[1]:
        return limits
    return given


def _of_data(data: np.ndarray) -> Range | None:
    if data.dtype.kind not in "biu":
        return None
    return (int(data.min()), int(data.max())) if data.size else (0, 0)


def _of_field(node: TupleGetItem, found: Mapping[Expr, Range]) -> Range | None:
    whole = node.tuple_value
    if isinstance(whole, Tuple):
        return found.get(whole.fields[node.index])
    if operator_name(whole) in _POSITIONS and node.index == 1 and isinstance(whole, Call):
        return _axis_positions(whole)
    return None


def _of_call(node: Call, found: Mapping[Expr, Range]) -> Range | None:
    name = operator_name(node) or ""
    ranges = [found.get(argument) for argument in node.arguments]
    if name in _KEEPING or name == "cast":
        return ranges[0]
    if name in _POSITIONS:
        is_index = name == "argsort" or attribute(node, "ret_type") == "indices"
        return _axis_positions(node) if is_index else ranges[0]
    if name in ("argmax", "argmin"):
        return _reduced_positions(node)
    if name in _JOINING:
        fields = node.arguments[0]
        parts = fields.fields if isinstance(fields, Tuple) else ()
        return _union(found.get(part) for part in parts)
    if name == "where":
        return _union(ranges[1:])
    if name == "clip":
        return _clipped(node, ranges[0])
    rule = _ARITHMETIC.get(name)
    if rule is None or len(ranges) != 2 or ranges[0] is None or ranges[1] is None:
        return None
    return rule(ranges[0], ranges[1])


def _axis_positions(node: Call) -> Range | None:
    shape = static_shape(node.arguments[0])
    if not shape:
        return None
    return 0, max(shape[attribute(node, "axis", -1)] - 1, 0)


def _reduced_positions(node: Call) -> Range | None:
    shape = static_shape(node.arguments[0])
    if shape is None:
        return None
    axes = attribute(node, "axis")
    given = range(len(shape)) if axes is None else (axes if isinstance(axes, tuple) else (axes,))
    if attribute(node, "exclude", False):
        inside = {axis % len(shape) for axis in given}
        given = tuple(axis for axis in range(len(shape)) if axis not in inside)
    return 0, max(math.prod(shape[axis] for axis in given) - 1, 0)


def _union(parts: Iterable[Range | None]) -> Range | None:
    given = list(parts)
    known = [part for part in given if part is not None]
    if not known or len(known) != len(given):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _clipped(node: Call, data: Range | None) -> Range | None:
    low, high = float(attribute(node, "a_min")), float(attribute(node, "a_max"))
    if data is None or math.isnan(low) or math.isnan(high):
        return data
    least, most = (max(low, data[0]), min(high, data[1]))
    return (math.ceil(least), math.floor(most)) if least <= most else None


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


_ARITHMETIC: Mapping[str, Callable[[Range, Range], Range | None]] = {
    "add": _corners(lambda a, b: a + b),
    "subtract": _corners(lambda a, b: a - b),
    "multiply": _corners(lambda a, b: a * b),
    "minimum": _corners(min),
    "maximum": _corners(max),
    "floor_mod": _floor_mod,
    "mod": _truncated_mod,
    "trunc_mod": _truncated_mod,
    "floor_divide": _floor_divide,
}
