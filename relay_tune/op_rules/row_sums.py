"""Tensors that are sums over rows: of what each row, or equal rows of several tensors, give.

    nn.matmul(%d, %x, transpose_a=True)            the outer products of equal rows of d and x
    sum(%d, axis=0)                                the rows of d
    scatter_nd(zeros(..), %i, %d, mode="add")      the rows of d, each at its index in zeros

Such sums can be added by putting the rows of one behind those of the other. With them stand the
tensors that have no rows at all, zeros, and the operators that add two sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.matching import attributes_of, have_one_shape, static_shape, tensor_type
from relay_tune.op_rules.table import OperatorTable
from relay_tune.op_rules.typed import call, reshape
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class RowTotal:
    """A sum over tensors with equal numbers of rows.

    Attributes:
        name: for the names of functions.
        of: the sum, given all rows of each tensor, and its type.
    """

    name: str
    of: Callable[[Sequence[Expr], TensorType], Expr]


@dataclass(frozen=True)
class RowSum:
    """A value as a sum over rows.

    Attributes:
        total: what is computed of the rows.
        rows: tensors whose first axes are the rows.
    """

    total: RowTotal
    rows: tuple[Expr, ...]


RowSumRule: TypeAlias = Callable[[Call], RowSum | None]
"""rule(call) -> the call as a sum over rows; None if it is none."""

AdditionRule: TypeAlias = Callable[[Call], tuple[Expr, ...]]
"""rule(call) -> the two values that it adds."""

PRODUCT = RowTotal("product", lambda rows, _: call("nn.matmul", *rows, transpose_a=True))
COLUMNS = RowTotal("columns", lambda rows, _: call("sum", rows[0], axis=(0,)))
SCATTERED = RowTotal("scattered", lambda rows, type_: _scattered_rows(rows, type_))


def row_sum(node: Expr) -> RowSum | None:
    """A typed call of fixed sizes as a sum over rows; None if it is none."""
    rule = ROW_SUMS.rule_of(node)
    if rule is None or not isinstance(node, Call) or not static_shape(node):
        return None
    if any(static_shape(each) is None for each in node.arguments):
        return None
    return rule(node)


def is_zero(node: Expr) -> bool:
    """Whether all elements of a tensor are zero, as the program says it."""
    if isinstance(node, Constant):
        return not node.data.any()
    return ZEROS.rule_of(node) is not None


def addends(node: Expr) -> tuple[Expr, Expr] | None:
    """The two values that a call adds element by element; None if it does something else."""
    rule = ADDITIONS.rule_of(node)
    if rule is None or not isinstance(node, Call):
        return None
    left, right = rule(node)
    is_plain = have_one_shape(left, node) and have_one_shape(right, node)
    return (left, right) if is_plain else None


def _product(call_: Call) -> RowSum | None:
    how = attributes_of(call_)
    types = {tensor_type(each) for each in call_.arguments}
    dtypes = {None if type_ is None else type_.dtype for type_ in (*types, tensor_type(call_))}
    if not how.transpose_a or how.transpose_b or len(dtypes) != 1:
        return None
    return RowSum(PRODUCT, call_.arguments)


def _reduced(call_: Call) -> RowSum | None:
    """A matrix whose rows become one, without their axis."""
    (matrix,) = call_.arguments
    shape = static_shape(matrix)
    if shape is None or len(shape) != 2 or static_shape(call_) != shape[1:]:
        return None
    return RowSum(COLUMNS, (matrix,))


def _sum(call_: Call) -> RowSum | None:
    how = attributes_of(call_)
    return _reduced(call_) if not how.exclude and how.axis in (0, (0,)) else None


def _scattered(call_: Call) -> RowSum | None:
    """Rows at indices along the first axis of zeros: the indices, a column, and the rows."""
    zeros, positions, rows = call_.arguments
    numbers, shape = static_shape(positions) or (), static_shape(call_) or ()
    if attributes_of(call_).mode != "add" or not is_zero(zeros) or numbers[0] != 1:
        return None
    count = prod(numbers)
    return RowSum(SCATTERED, (reshape(positions, (count, 1)), reshape(rows, (count, *shape[1:]))))


def _scattered_rows(given: Sequence[Expr], type_: TensorType) -> Expr:
    positions, rows = given
    shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
    zeros = call("zeros", shape=shape, dtype=type_.dtype)
    return call("scatter_nd", zeros, reshape(positions, (1, -1)), rows, mode="add")


ROW_SUMS: OperatorTable[RowSumRule] = OperatorTable(
    {
        "nn.matmul": _product,
        "collapse_sum_to": _reduced,
        "sum": _sum,
        "reshape": _reduced,
        "scatter_nd": _scattered,
    }
)

ZEROS: OperatorTable[str] = OperatorTable({"zeros": "all", "zeros_like": "all"})
"""The operators whose results have elements that are zero: all of them."""

ADDITIONS: OperatorTable[AdditionRule] = OperatorTable({"add": lambda call_: call_.arguments})
"""The operators that add two tensors element by element, where no axis is repeated."""
