"""Fusion's knowledge of an operator beside its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from relay_tune.ir.expr import Call
from relay_tune.ir.operator import FusionKind
from relay_tune.quick_dataclass import dataclass


class Rows(Enum):
    """A computation row by row for a reader that needs its own row only."""

    SCORES = "rows of a product"
    WEIGHTS = "rows that are normalised"
    PIXELS = "rows of an image, each channel by itself"
    WINDOWS = "windows of an image, side by side"


@dataclass(frozen=True, slots=True)
class Stored:
    """How a kernel stores its result.

    Attributes:
        moved: whether it is moved to other positions already (padded, permuted).
        with_gaps: whether the kernel's tiles leave out elements that others write.
    """

    moved: bool
    with_gaps: bool


def _no_attributes(_: Call) -> Mapping[str, int]:
    return {}


def _no_tail(_: Call, __: Stored) -> bool:
    return False


def _no(_: Call) -> bool:
    return False


def _never(_: Call, __: Call) -> bool:
    return False


def _no_rows(_: Call) -> frozenset[Rows]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class FusionRule:
    """How an operator takes part in kernels.

    Attributes:
        kind: the kind of a call, where calls of the operator are of several kinds.
        is_alone: whether a call is never in a kernel with others.
        keeps_order: whether it gives its first argument with another shape.
        is_cheap: whether it is no more than index arithmetic.
        is_slice: whether any kernel may read through it: the index stays affine.
        joins: whether kernels may write its arguments into their parts of the result.
        reads_once: whether a call reads each element of an argument once, so that it may as well
            read what the argument is moved from.
        is_tail: whether a call only says where the result of a kernel is stored.
        leaves_gaps: whether tiles of a call leave out elements that other tiles write.
        normalizes_rows: whether a call reads each row of its data several times, and nothing else.
        gives_rows: what a call gives to a reader that works row by row.
        takes_rows: what a call can take row by row, of its first argument.
        primitive_attributes: those of a kernel that is this call alone and computes nothing
            (`relay_tune.op.primitive_views`).
    """

    kind: Callable[[Call], FusionKind] | None = None
    is_alone: bool = False
    keeps_order: bool = False
    is_cheap: bool = False
    is_slice: bool = False
    joins: bool = False
    reads_once: Callable[[Call, Call], bool] = _never
    is_tail: Callable[[Call, Stored], bool] = _no_tail
    leaves_gaps: Callable[[Call], bool] = _no
    normalizes_rows: Callable[[Call], bool] = _no
    gives_rows: Callable[[Call], frozenset[Rows]] = _no_rows
    takes_rows: Callable[[Call], frozenset[Rows]] = _no_rows
    primitive_attributes: Callable[[Call], Mapping[str, int]] = _no_attributes
