"""Matrices of weights that products and lookups read row by row, whatever they are stored in.

nn.dense(%x, W)                        rows of W
nn.matmul(%x, W)                       rows of the transpose of W
take(W, %i, axis=0)                    rows of W
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.matching import attribute, operator_call, rank, transpose_axes
from relay_tune.op_rules.table import OperatorTable
from relay_tune.op_rules.typed import recall
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WeightMatrix:
    """A matrix of constants that a call reads.

    Attributes:
        constant: the matrix.
        turned: whether rows are columns of it.
        reading: the call that reads a matrix of rows instead.
    """

    constant: Constant
    turned: bool
    reading: Callable[[Expr], Call]


WeightRule: TypeAlias = Callable[[Call], WeightMatrix | None]
"""The matrix of weights of a call; None if it has none."""


def weight_matrix(node: Expr) -> WeightMatrix | None:
    """The matrix of weights that a node reads, None for any other node."""
    rule = WEIGHTS.rule_of(node)
    return rule(node) if rule is not None and isinstance(node, Call) else None


def _of_product(call: Call) -> WeightMatrix | None:
    """Of nn.dense, and of nn.matmul, which may have either order of its axes."""
    data, weight = call.arguments
    is_turned = not attribute(call, "transpose_b", True)
    if attribute(call, "transpose_a", False) or (rank(data) or 0) < 2:
        return None
    changes = {"transpose_b": True} if is_turned else {}
    return _found(weight, is_turned, lambda rows: recall(call, (data, rows), **changes))


def _of_lookup(call: Call) -> WeightMatrix | None:
    table, indices = call.arguments
    if attribute(call, "axis") != 0 or attribute(call, "batch_dims", 0):
        return None
    return _found(table, False, lambda rows: recall(call, (rows, indices)))


def _found(weight: Expr, turned: bool, reading: Callable[[Expr], Call]) -> WeightMatrix | None:
    moved = operator_call(weight, "transpose")
    if moved is not None and transpose_axes(moved) == (1, 0):
        weight, turned = moved.arguments[0], not turned
    if not isinstance(weight, Constant) or weight.data.ndim != 2:
        return None
    return WeightMatrix(weight, turned, reading)


WEIGHTS: OperatorTable[WeightRule] = OperatorTable(
    {"nn.dense": _of_product, "nn.matmul": _of_product, "take": _of_lookup}
)
