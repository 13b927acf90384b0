"""Columns of matrices: who takes some of them, and who can compute some of them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op.slicing import slice_positions
from relay_tune.op_rules.matching import attribute, static_shape
from relay_tune.op_rules.table import OperatorTable
from relay_tune.op_rules.typed import constant_of, recall
from relay_tune.quick_dataclass import dataclass

TakenColumns: TypeAlias = Callable[[Call], range | None]
"""rule(call) -> the columns of its first argument that it is; None if it is no whole columns."""


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """A product whose columns can be computed apart.

    Attributes:
        is_divisible: whether those of a call can: their weights are known.
        columns: the call that computes the columns in [begin, end).
    """

    is_divisible: Callable[[Call], bool]
    columns: Callable[[Call, int, int], Call]


def taken_columns(node: Expr) -> range | None:
    """The columns that a call takes; None if it takes no rectangle of whole columns."""
    rule = TAKEN.rule_of(node)
    return rule(node) if rule is not None and isinstance(node, Call) else None


def _slice_columns(call_: Call) -> range | None:
    shape = static_shape(call_.arguments[0])
    if not shape or call_.attributes is None:
        return None
    *others, last = slice_positions(call_.attributes, shape)
    is_whole = all(taken == range(size) for taken, size in zip(others, shape, strict=False))
    return last if is_whole and last.step == 1 and last else None


def _has_constant_weight(call_: Call) -> bool:
    return isinstance(call_.arguments[1], Constant)


def _dense_columns(call_: Call, begin: int, end: int) -> Call:
    data, weight = call_.arguments
    assert isinstance(weight, Constant)
    changes = {} if attribute(call_, "units") is None else {"units": end - begin}
    return recall(call_, (data, constant_of(weight.data[begin:end])), **changes)


TAKEN: OperatorTable[TakenColumns] = OperatorTable({"strided_slice": _slice_columns})

PRODUCTS: OperatorTable[ColumnRule] = OperatorTable(
    {"nn.dense": ColumnRule(_has_constant_weight, _dense_columns)}
)
