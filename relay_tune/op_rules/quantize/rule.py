"""Rules of the pass to integers for one operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.quantize.affine import Affine

Given: TypeAlias = "Affine | Sequence[Given] | None"
"""An argument as it is stored: None where it is no affine tensor, one for each field of a tuple."""

AffineRule: TypeAlias = Callable[[Call, Sequence[Given]], Affine | None]
"""rule(call on float32, its arguments as they are stored) -> how its result is stored; None where
it has to be computed in float32.

The call's own arguments are the rewritten ones, in float32."""

StoreRule: TypeAlias = Callable[[Call, Sequence[Given]], Expr | None]
"""rule(call that stores numbers as integers, its arguments as they are stored) -> the integers,
computed from those; None where they have to be computed from float32."""


def first(given: Sequence[Given]) -> Affine | None:
    """The first argument, where it is one affine tensor."""
    return given[0] if given and isinstance(given[0], Affine) else None
