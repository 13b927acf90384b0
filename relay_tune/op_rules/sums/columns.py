"""Sums over rows whose sum is one over the rows of a concatenation that exists.

before: %d = concatenate((%a, %b)); ..; add(sum(%a, axis=0), sum(%b, axis=0))
after:  %d = concatenate((%a, %b)); ..; sum(%d, axis=0)

The bias of a layer that is read in many steps has such an adjoint.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import static_shape, tensor_type
from relay_tune.op_rules.row_sums import COLUMNS, row_sum
from relay_tune.op_rules.sums.concatenations import Concatenations
from relay_tune.op_rules.sums.rule import TermRule


def _key(total: Call) -> Hashable | None:
    """The type of a sum over rows; None if it is none."""
    found, shape = row_sum(total), static_shape(total)
    return shape if found is not None and found.total is COLUMNS else None


def _joined(totals: Sequence[Call], concatenations: Concatenations) -> Expr | None:
    """The sum over all rows; None where they are not one behind the other."""
    rows = [total.arguments[0] for total in totals]
    order, type_ = concatenations.order(rows, 0), tensor_type(totals[0])
    if order is None or type_ is None:
        return None
    return COLUMNS.of([concatenations.of([rows[each] for each in order], 0)], type_)


RULES: Mapping[str, TermRule] = dict.fromkeys(("sum", "collapse_sum_to"), TermRule(_key, _joined))
