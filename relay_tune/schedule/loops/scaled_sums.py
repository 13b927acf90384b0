"""Sums whose inner steps share a factor, which they are multiplied by together.

    before:  y[o] = sum(b, k) x[32 * b + k] * (q[o, b, k] * s[o, b])
    after:   y[o] = sum(b) s[o, b] * sum(k) x[32 * b + k] * q[o, b, k]

So scales of blocks of weights take one multiplication a block. The inner sums have registers of
their own: tiles of several rows, which convert each weight once for all of them, keep theirs.

    before:  y[i, o] = sum(b, v) float(select(v == 0, c[i, b], 0) + dot(w[o, b, v], q[i, b, v])) * f
    after:   y[i, o] = sum(b) f * float(c[i, b] + sum(v) dot(w[o, b, v], q[i, b, v]))

Dot products of words are summed as integers in any tile. What stands beside the first one is where
the inner sum begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce as fold
from math import prod
from operator import mul

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import (
    DOT_PRODUCTS,
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Scalar,
    Select,
)
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import axes_of

LEAST_STEPS = 8
"""Fewer steps are not worth sums of their own."""

MOST_SUMS = 4
"""Inner sums that are computed beside each other."""


@dataclass(frozen=True, eq=False, slots=True)
class ScaledSum:
    """A sum in two levels.

    Attributes:
        inner: the reduction axes of the inner sum, the last ones of the loops.
        term: what the inner sum adds up.
        factor: what each inner sum is multiplied by.
        start: where each inner sum begins; None for zero.
        beside: the innermost of the outer axes where an operand that each step makes is the same
            for all of it: the inner sums of its few steps have registers beside each other.
    """

    inner: tuple[Axis, ...]
    term: Scalar
    factor: Scalar
    start: Scalar | None = None
    beside: Axis | None = None

    @property
    def together(self) -> int:
        """How many inner sums are computed at a time."""
        return 1 if self.beside is None else self.beside.extent

    @property
    def is_integer(self) -> bool:
        """Whether inner sums are integers, which become floats for each outer step."""
        return self.term.dtype == "int32"


def scaled_sum(nest: Nest, choice: TileChoice) -> ScaledSum | None:
    """The reduction of a nest in two levels; None where that saves nothing, or takes too much."""
    body, rows = nest.body, list(choice.tile)
    if body is None or nest.operation != "sum" or choice.vector < 0:
        return None
    if not body.dtype.startswith("float"):
        return None
    reduction = [nest.reduction[position] for position in choice.reduction_order]
    whole = _integer_sum(body, reduction)
    if whole is not None:
        return whole
    del rows[choice.vector]
    if prod(rows) != 1:
        return None
    factors = list(_factors(body))
    for begin in range(1, len(reduction)):
        inner = set(reduction[begin:])
        shared = [each for each in factors if not inner & set(axes_of(each))]
        steps = prod(axis.extent for axis in inner)
        if any(isinstance(each, Literal) for each in shared) or not shared:
            continue
        if len(shared) < len(factors) and not is_symbolic(steps) and steps >= LEAST_STEPS:
            left = [each for each in factors if each not in shared]
            return ScaledSum(tuple(reduction[begin:]), fold(mul, left), fold(mul, shared))
    return None


def has_sums_beside(nest: Nest, choice: TileChoice) -> bool:
    """Whether inner sums are computed beside each other."""
    found = scaled_sum(nest, choice)
    return found is not None and found.beside is not None


def has_integer_sums(nest: Nest) -> bool:
    """Whether dot products of words are scaled block by block, in the order of the axes."""
    is_sum = nest.body is not None and nest.operation == "sum"
    return is_sum and nest.body is not None and _integer_sum(nest.body, nest.reduction) is not None


def _integer_sum(body: Scalar, reduction: Sequence[Axis]) -> ScaledSum | None:
    """The sum of floats in whose inner steps dot products are summed; None if it is no such."""
    factors = _factors(body)
    dots = [each for each in factors if isinstance(each, Cast) and _is_dot(each.operand)]
    if len(dots) != 1:
        return None
    others = [each for each in factors if each is not dots[0]]
    used = set(axes_of(*others))
    inner = list(reduction)
    while inner and used.intersection(inner):
        inner.pop(0)
    if not inner or not others:
        return None
    term, start = _from_start(dots[0].operand, inner)
    beside = _beside(term, reduction[: -len(inner)])
    return ScaledSum(tuple(inner), term, fold(mul, others), start, beside)


def _beside(term: Scalar, outer: Sequence[Axis]) -> Axis | None:
    """The innermost of some axes, where a step makes a word that is the same all along it."""
    if not outer or outer[-1].extent > MOST_SUMS or not isinstance(term, Binary):
        return None
    made = [side for side in (term.left, term.right) if not isinstance(side, Load)]
    return outer[-1] if any(outer[-1] not in axes_of(side) for side in made) else None


def _is_dot(node: Scalar) -> bool:
    """Whether a node is a dot product of integers, or the sum of one and something else."""
    if not isinstance(node, Binary) or node.dtype != "int32":
        return False
    if node.operation == "add":
        return _is_dot(node.right)
    return node.operation in DOT_PRODUCTS


def _from_start(node: Scalar, inner: Sequence[Axis]) -> tuple[Scalar, Scalar | None]:
    """What each inner step adds, and what the first one adds beside it."""
    first = node.left if isinstance(node, Binary) and node.operation == "add" else None
    if not isinstance(node, Binary) or not isinstance(first, Select):
        return node, None
    match first.condition, first.if_false:
        case Binary(operation="eq", left=step, right=Literal(value=0)), Literal(value=0) if _counts(
            step, inner
        ) and not set(inner) & set(axes_of(first.if_true)):
            return node.right, first.if_true
    return node, None


def _counts(step: Scalar, axes: Sequence[Axis]) -> bool:
    """Whether a number is zero where all of some axes are, and nowhere else."""
    form = axis_affine(step)
    if form is None or form.constant or set(form.terms) != set(axes):
        return False
    return all(form.coefficient(axis) > 0 for axis in axes)


def _factors(body: Scalar) -> Sequence[Scalar]:
    """What is multiplied, first to last."""
    if not isinstance(body, Binary) or body.operation != "mul":
        return (body,)
    return (*_factors(body.left), *_factors(body.right))
