"""Primitive functions that compute nothing: their results lie where their arguments lie.

The attributes are written by fusion and read where memory is planned:

    ReshapeOnly=1       the argument with another shape
    ViewOffset=n        a piece of the argument's memory, from its element n on
    JoinOnly=1          the arguments one after the other, so that each can be computed in its slot
    IndexCheck=1        the first argument, after a check of indices (`relay_tune.op.index_check`)
    Again=1             the first argument, when the second one is known

Such a function is an ordinary one otherwise, and may be run like any other; but a check of indices
is no code of a kernel.
"""

from __future__ import annotations

from relay_tune.ir.expr import Call, Function

RESHAPE_ONLY, VIEW_OFFSET, JOIN_ONLY = "ReshapeOnly", "ViewOffset", "JoinOnly"
INDEX_CHECK, AGAIN = "IndexCheck", "Again"


def view_offset(function: Function) -> int | None:
    """The element of its argument at which the result of a view begins; None if it is no view."""
    if function.attributes.get(RESHAPE_ONLY) == 1:
        return 0
    offset = function.attributes.get(VIEW_OFFSET)
    return offset if isinstance(offset, int) else None


def is_join(function: Function) -> bool:
    """Whether the result is the arguments one after the other."""
    return function.attributes.get(JOIN_ONLY) == 1


def index_check(function: Function) -> Call | None:
    """The call of check_indices that is all of a primitive; None if it is something else."""
    return _only_call(function, INDEX_CHECK)


def value_again(function: Function) -> Call | None:
    """The call of again that is all of a primitive; None if it is something else."""
    return _only_call(function, AGAIN)


def computes_nothing(function: Function) -> bool:
    """Whether this is a view, a join, a check of indices, or a value that there is."""
    is_there = index_check(function) is not None or value_again(function) is not None
    return is_there or view_offset(function) is not None or is_join(function)


def _only_call(function: Function, attribute: str) -> Call | None:
    if function.attributes.get(attribute) != 1 or not isinstance(function.body, Call):
        return None
    return function.body
