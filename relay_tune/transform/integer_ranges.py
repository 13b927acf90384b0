"""The values that integer tensors can have, as far as the program shows it.

    argmax(%x) over 10 elements                 0 .. 9
    floor_mod(%i, 8)                            0 .. 7
    where(less(%i, 3), argmax(%x), 20)          0 .. 20

What operators give is said by `relay_tune.op_rules.indices.ranges`; what nothing is known of has no
range.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.indices.ranges import Range, result_ranges
from relay_tune.op_rules.matching import tensor_type
from relay_tune.transform.module_pass import same_scope


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
            given = next(iter(result_ranges(node, found)), None)
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
    ranges = result_ranges(whole, found) if isinstance(whole, Call) else ()
    return ranges[node.index] if node.index < len(ranges) else None
