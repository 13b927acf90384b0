"""Rules of an operator for the choice of layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.layout.versions import Version, Versions
from relay_tune.quick_dataclass import dataclass

Conversion: TypeAlias = Callable[[Call, Versions], dict[Version, Expr] | None]
"""conversion(call of the original program, versions of its arguments) -> versions of its result, or
None if the call needs its arguments in the original order."""


def _never(_: Call) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class LayoutRule:
    """How an operator runs in another layout.

    Attributes:
        convert: gives the versions of the result that the operator can compute.
        starts_region: whether channels-last layouts are worth it for this operator's sake.
        reads_channels_last: whether a call would rather have its first argument channels last.
    """

    convert: Conversion
    starts_region: bool = False
    reads_channels_last: Callable[[Call], bool] = _never


def always(_: Call) -> bool:
    """Every call of an operator would rather read channels-last data."""
    return True
