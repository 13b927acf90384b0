"""Comparisons of two tensors that broadcast; the result is bool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay_tune.ir.operator import Operator
from relay_tune.op.arithmetic import binary_operator
from relay_tune.tensor.expression import binary
from relay_tune.typing.relations.elementwise import broadcast_comparison


def _comparison(
    name: str, operation: str, reference: Callable[..., Any], documentation: str
) -> Operator:
    return binary_operator(
        name,
        lambda a, b: binary(operation, a, b),
        reference,
        documentation,
        relation=broadcast_comparison,
    )


equal = _comparison("equal", "eq", np.equal, "Whether lhs == rhs; NaN equals nothing.")
not_equal = _comparison("not_equal", "ne", np.not_equal, "Whether lhs != rhs.")
less = _comparison("less", "lt", np.less, "Whether lhs < rhs.")
less_equal = _comparison("less_equal", "le", np.less_equal, "Whether lhs <= rhs.")
greater = _comparison("greater", "gt", np.greater, "Whether lhs > rhs.")
greater_equal = _comparison("greater_equal", "ge", np.greater_equal, "Whether lhs >= rhs.")
