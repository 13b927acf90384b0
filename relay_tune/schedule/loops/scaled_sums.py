"""Sums whose inner steps share a factor, which they are multiplied by together.

    before:  y[o] = sum(b, k) x[32 * b + k] * (q[o, b, k] * s[o, b])
    after:   y[o] = sum(b) s[o, b] * sum(k) x[32 * b + k] * q[o, b, k]

So scales of blocks of weights take one multiplication a block. The inner sums have registers of
their own: tiles of several rows, which convert each weight once for all of them, keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce as fold
from math import prod
from operator import mul

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.expression import Axis, Binary, Literal, Scalar
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import axes_of

LEAST_STEPS = 8
"""Fewer steps are not worth sums of their own."""


@dataclass(frozen=True, eq=False, slots=True)
class ScaledSum:
    """A sum in two levels.

    Attributes:
        inner: the reduction axes of the inner sum, the last ones of the loops.
        term: what the inner sum adds up.
        factor: what each inner sum is multiplied by.
    """

    inner: tuple[Axis, ...]
    term: Scalar
    factor: Scalar


def scaled_sum(nest: Nest, choice: TileChoice) -> ScaledSum | None:
    """The reduction of a nest in two levels; None where that saves nothing, or takes too much."""
    body, rows = nest.body, list(choice.tile)
    if body is None or nest.operation != "sum" or choice.vector < 0:
        return None
    del rows[choice.vector]
    if not body.dtype.startswith("float") or prod(rows) != 1:
        return None
    reduction = [nest.reduction[place] for place in choice.reduction_order]
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


def _factors(body: Scalar) -> Sequence[Scalar]:
    """What is multiplied, first to last."""
    if not isinstance(body, Binary) or body.operation != "mul":
        return (body,)
    return (*_factors(body.left), *_factors(body.right))
