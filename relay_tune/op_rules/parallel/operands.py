"""Operands of elementwise calls that follow parallel layers, joined along the channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.ir.expr import Call, Expr, Var
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.op_rules.matching import attribute, constant_data, operator_call, static_shape
from relay_tune.op_rules.table import OperatorTable
from relay_tune.op_rules.typed import call, constant_of, recall, tuple_of

_VECTORS: Mapping[str, str] = {"nn.bias_add": "axis", "nn.prelu": "axis"}
"""The attribute that names the axis along which an operator's second argument is a vector."""

NESTED = 4
"""How many elementwise calls may stand in each other in an operand."""

VECTOR_AXES: OperatorTable[str] = OperatorTable(_VECTORS)


def joined_call(
    calls: Sequence[Call], before: Sequence[Expr], whole: Expr, axis: int
) -> Call | None:
    """One call on `whole`, where `calls` are the same operator on its parts along an axis, or None.

    Call number i reads `before[i]`, part number i, and operands that are joined, too.
    """
    positions = {
        tuple(n for n, argument in enumerate(each.arguments) if argument is part)
        for each, part in zip(calls, before, strict=True)
    }
    if len(positions) != 1 or len(position := positions.pop()) != 1:
        return None
    sizes = [(static_shape(part) or ())[axis] for part in before]
    return _joined_arguments(calls, sizes, axis, {position[0]: whole}, NESTED)


def joined_operand(
    operands: Sequence[Expr], sizes: Sequence[int], axis: int | None, trailing: int, nested: int = 0
) -> Expr | None:
    """Join operands of parts of these sizes along one of their axes; None: impossible.

    The axis has so many `trailing` ones behind it in the result. An operand that is the same for
    all channels, which has no such axis or one of size 1, stays if all are the same. Constants are
    joined when the program is built, rows that are looked up at the same indices in the table,
    variables when the program runs, and elementwise calls, up to so many in each other, on joined
    operands.
    """
    shapes = [static_shape(each) for each in operands]
    if len({None if shape is None else len(shape) for shape in shapes}) > 1:
        return None
    along = [1 if axis is None or shape is None else shape[axis] for shape in shapes]
    is_whole = axis is not None and None not in shapes and along == list(sizes)
    if not is_whole and set(along) == {1} and all(_is_same(operands[0], one) for one in operands):
        return operands[0]
    constants = [data for each in operands if (data := constant_data(each)) is not None]
    if len(constants) == len(operands):
        return _joined_constants(constants, sizes, axis, trailing)
    if axis is None or not is_whole:
        return None
    if all(isinstance(each, Var) for each in operands):
        return call("concatenate", tuple_of(operands), axis=axis)
    calls = [each for each in operands if isinstance(each, Call)]
    if len(calls) != len(operands):
        return None
    joined = _joined_lookups(calls, axis)
    if joined is None and nested and is_pointwise(calls[0]):
        joined = _joined_arguments(calls, sizes, axis, {}, nested - 1)
    return joined


def is_pointwise(node: Expr) -> bool:
    """Whether a node calls an operator that computes element by element."""
    if not isinstance(node, Call) or not isinstance(node.callee, Operator):
        return False
    return node.callee.kind <= FusionKind.BROADCAST


def _joined_arguments(
    calls: Sequence[Call], sizes: Sequence[int], axis: int, known: Mapping[int, Expr], nested: int
) -> Call | None:
    """A call like `calls`, for all parts of an axis of their results, or None.

    `known` are arguments by their number; the others are joined.
    """
    first, shape = calls[0], static_shape(calls[0])
    if any(_operation(each) != _operation(first) for each in calls) or shape is None:
        return None
    arguments: list[Expr] = []
    for n, operand in enumerate(first.arguments):
        operands = [each.arguments[n] for each in calls]
        operand_axis = _operand_axis(first, operand, axis)
        joined = known.get(n) or joined_operand(
            operands, sizes, operand_axis, len(shape) - 1 - axis, nested
        )
        if joined is None:
            return None
        arguments.append(joined)
    found = recall(first, arguments)
    wanted = (*shape[:axis], sum(sizes), *shape[axis + 1 :])
    return found if static_shape(found) == wanted else None


def _operation(call_: Call) -> tuple[Expr, str]:
    """Key of a call's operation on its arguments; its text tells 1 from 1.0 among attributes."""
    return call_.callee, repr(call_.attributes)


def _operand_axis(call_: Call, operand: Expr, axis: int) -> int | None:
    """The axis of an operand that goes with an axis of the result; None: it has none."""
    shape, result = static_shape(operand), static_shape(call_)
    if shape is None or result is None:
        return None
    attribute_name = VECTOR_AXES.rule_of(call_)
    if attribute_name is not None and operand is call_.arguments[1]:
        return 0 if attribute(call_, attribute_name) % len(result) == axis else None
    position = axis - len(result) + len(shape)
    return position if position >= 0 else None


def _is_same(left: Expr, right: Expr) -> bool:
    first, second = constant_data(left), constant_data(right)
    if first is None or second is None:
        return left is right
    return first.shape == second.shape and first.tobytes() == second.tobytes()


def _joined_constants(
    constants: Sequence[np.ndarray], sizes: Sequence[int], axis: int | None, trailing: int
) -> Expr | None:
    """Constants after each other along an axis; one number stands for all elements of a part."""
    position = 0 if axis is None else axis
    arrays = []
    for data, size in zip(constants, sizes, strict=True):
        if data.size == 1 and axis is None:
            data = data.reshape((1,) * (1 + trailing))
        if axis is None and data.ndim != 1 + trailing:
            return None
        part = np.repeat(data, size, position) if data.shape[position] == 1 else data
        if part.shape[position] != size:
            return None
        arrays.append(part)
    others = {
        (*each.shape[:position], *each.shape[position + 1 :], each.dtype.str) for each in arrays
    }
    return constant_of(np.concatenate(arrays, position)) if len(others) == 1 else None


def _joined_lookups(calls: Sequence[Call], axis: int) -> Expr | None:
    """take(A, i), take(B, i) are parts of take((A, B), i), where tables are joined along rows."""
    first = calls[0]
    if operator_call(first, "take") is None or attribute(first, "axis") not in (0, -2):
        return None
    if any(_operation(each) != _operation(first) for each in calls):
        return None
    tables = [constant_data(each.arguments[0]) for each in calls]
    known = [table for table in tables if table is not None and table.ndim == 2]
    if len(known) != len(calls) or len({len(table) for table in known}) != 1:
        return None
    index, dims = first.arguments[1], len(static_shape(first) or ())
    if any(each.arguments[1] is not index for each in calls) or axis != dims - 1:
        return None
    return recall(first, (constant_of(np.concatenate(known, 1)), index))
