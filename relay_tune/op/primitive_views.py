"""Primitive functions that compute nothing: their results lie where their arguments lie.

The attributes are written by fusion and read where memory is planned:

    ReshapeOnly=1       the argument with another shape
    ViewOffset=n        a piece of the argument's memory, from its element n on
    JoinOnly=1          the arguments one after the other, so that each can be computed in its place

Such a function is an ordinary one otherwise, and may be run like any other.
"""

from __future__ import annotations

from relay_tune.ir.expr import Function

RESHAPE_ONLY, VIEW_OFFSET, JOIN_ONLY = "ReshapeOnly", "ViewOffset", "JoinOnly"


def view_offset(function: Function) -> int | None:
    """The element of its argument at which the result of a view begins; None if it is no view."""
    if function.attributes.get(RESHAPE_ONLY) == 1:
        return 0
    offset = function.attributes.get(VIEW_OFFSET)
    return offset if isinstance(offset, int) else None


def is_join(function: Function) -> bool:
    """Whether the result is the arguments one after the other."""
    return function.attributes.get(JOIN_ONLY) == 1


def computes_nothing(function: Function) -> bool:
    """Whether this is a view or a join."""
    return view_offset(function) is not None or is_join(function)
