"""Sums, and the type of a rule for their terms."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import operator_call
from relay_tune.op_rules.sums.concatenations import Concatenations
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TermRule:
    """How terms of a sum that call one operator are joined.

    Attributes:
        key: what terms have in common that may be one; None: the term is none of them.
        joined: the sum of two terms or more of one key, or None where that would not pay.
    """

    key: Callable[[Call], Hashable | None]
    joined: Callable[[Sequence[Call], Concatenations], Expr | None]


def is_sum(node: Expr) -> bool:
    """Whether a node adds two tensors of its own type."""
    sum_ = operator_call(node, "add")
    return sum_ is not None and all(each.type == node.type for each in sum_.arguments)
