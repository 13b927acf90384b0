"""Reverse mode through one scalar expression: the adjoints of the elements that it loads.

before:  y = select(i > 0, x[i - 1] * w[i - 1], 0)       and the adjoint d of y
after:   x[i - 1]: where i > 0, d * w[i - 1]

What belongs to a branch stays under its condition: its loads may be out of bounds elsewhere, and
its slopes infinite, which times zero is no number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from relay_tune.ir.reached import reached
from relay_tune.tensor.derivative.activity import IsActive, active_nodes
from relay_tune.tensor.derivative.slopes import (
    BINARY_SLOPES,
    UNARY_SLOPES,
    change_dtype,
    widened,
    zero_of,
)
from relay_tune.tensor.expression import (
    Binary,
    Cast,
    Load,
    Scalar,
    Select,
    Unary,
    cast,
    select,
)
from relay_tune.tensor.walk import operands, sub_expressions

Guard = tuple[tuple[Scalar, bool], ...]
"""Conditions and what they have to be, the outermost first."""

Guarded = Mapping[Guard, Scalar]
"""Values that are to be added up, each where its conditions hold."""

POLYNOMIAL = frozenset(("add", "sub", "mul", "neg"))
"""Operations whose results and slopes are finite where the operands are."""


def load_adjoints(root: Scalar, adjoint: Scalar, is_active: IsActive) -> dict[Load, Guarded]:
    """The adjoint of each load of an active tensor in `root`, given that of the value of `root`."""
    active = active_nodes(root, is_active)
    sure = _sure_loads(root)
    pending: dict[Scalar, dict[Guard, Scalar]] = {root: {(): adjoint}}
    for node in reversed(sub_expressions(root)):
        if node not in active or node not in pending:
            continue
        for guard, change in pending[node].items():
            for operand, value, extra in _parts(node, change, sure):
                if operand in active:
                    sums = pending.setdefault(operand, {})
                    known = sums.get(guard + extra)
                    sums[guard + extra] = value if known is None else known + value
    return {n: pending[n] for n in pending if isinstance(n, Load) and n in active}


def guarded(value: Scalar, guard: Guard) -> Scalar:
    """A value where conditions hold, elsewhere 0."""
    for condition, wanted in reversed(guard):
        zero = zero_of(value)
        value = select(condition, value, zero) if wanted else select(condition, zero, value)
    return value


def summed(values: Guarded) -> Scalar:
    """The sum of guarded values as one expression."""
    parts = [guarded(value, guard) for guard, value in values.items()]
    return reduce(lambda left, right: left + right, parts)


def is_polynomial(root: Scalar, sure: Sequence[Load] | frozenset[Load] | None = None) -> bool:
    """Whether a value is finite where all it loads is: sums and products of loads and numbers.

    With `sure`, other loads than these do not count as finite.
    """
    for node in sub_expressions(root):
        match node:
            case Load():
                if sure is not None and node not in sure:
                    return False
            case Unary() | Binary() if "float" in node.dtype:
                if node.operation not in POLYNOMIAL:
                    return False
    return True


def _parts(
    node: Scalar, change: Scalar, sure: frozenset[Load]
) -> Iterator[tuple[Scalar, Scalar, Guard]]:
    """(operand, its share of the adjoint, further conditions) of each operand of a node."""
    match node:
        case Unary(operand=x):
            yield x, UNARY_SLOPES[node.operation](change, widened(x), widened(node)), ()
        case Binary(left=left, right=right):
            for operand, slope in zip((left, right), BINARY_SLOPES[node.operation], strict=True):
                if slope is not None:
                    values = (change, widened(left), widened(right), widened(node))
                    yield operand, slope(*values), ()
        case Cast(operand=x):
            yield x, cast(change, change_dtype(x.dtype)), ()
        case Select():
            yield _branch(node.condition, node.if_true, change, sure, wanted=True)
            yield _branch(node.condition, node.if_false, change, sure, wanted=False)


def _branch(
    condition: Scalar, branch: Scalar, change: Scalar, sure: frozenset[Load], *, wanted: bool
) -> tuple[Scalar, Scalar, Guard]:
    guard = ((condition, wanted),)
    if is_polynomial(branch, sure):
        return branch, guarded(change, guard), ()
    return branch, change, guard


def _sure_loads(root: Scalar) -> frozenset[Load]:
    """The loads that are performed whatever the conditions are."""

    def sure(node: Scalar) -> Sequence[Scalar]:
        return (node.condition,) if isinstance(node, Select) else operands(node)

    return frozenset(node for node in reached([root], sure) if isinstance(node, Load))
