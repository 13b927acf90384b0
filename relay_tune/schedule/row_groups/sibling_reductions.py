"""Reductions of one shape that do not need each other run in the same loops.

    before:  for k: s = s + x[k]              after:  for k: s = s + x[k]
             a = s                                           t = t + x[k] * x[k]
             for k: t = t + x[k] * x[k]               a = s
             b = t - a * a                            b = t - a * a

What both read is loaded once, which is one pass over memory less, and neither waits for the other's
last result. This is the fusion of sibling loops (Kennedy and McKinley, "Maximizing Loop Parallelism
and Improving Data Locality via Loop Fusion and Distribution", 1993).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Literal, Scalar
from relay_tune.tensor.loops import Allocate, Block, Loop, Statement
from relay_tune.tensor.rename_axes import with_axes
from relay_tune.tensor.walk import loads, substitute


def are_siblings(first: Nest, second: Nest) -> bool:
    """Whether two reductions can share their loops, those of `first` in front.

    What is reduced in the second one must not need the result of the first; what is done to its
    result may, at the same index.
    """
    if first.body is None or second.body is None or second.target is first.target:
        return False
    if _shape(first) != _shape(second):
        return False
    if any(load.tensor is first.target for load in loads(second.body)):
        return False
    same = dict(zip(second.axes, first.axes, strict=True))
    stored = axis_affine(first.index)
    return stored is not None and all(
        axis_affine(substitute(load.indices[0], same)) == stored
        for load in loads(second.result)
        if load.tensor is first.target
    )


def sibling_runs(nests: Sequence[Nest]) -> list[list[Nest]]:
    """The nests in order, those together that can share their loops."""
    runs: list[list[Nest]] = []
    for nest in nests:
        if runs and all(are_siblings(before, nest) for before in runs[-1]):
            runs[-1].append(nest)
        else:
            runs.append([nest])
    return runs


def _shape(nest: Nest) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(axis.extent for axis in axes) for axes in (nest.axes, nest.reduction))


def joined(first: Statement, second: Statement) -> Statement:
    """The loops of two siblings that were tiled alike as one nest of loops."""
    return _joined(first, second, {})


def _joined(first: Statement, second: Statement, names: dict[Axis, Scalar]) -> Statement:
    """The same where axes of the second one are known by other names around."""
    match first, second:
        case Allocate(), _:
            return Allocate(first.buffer, _joined(first.body, second, names))
        case _, Allocate():
            return Allocate(second.buffer, _joined(first, second.body, names))
        case Loop(), Loop() if _runs_alike(first, second):
            body = _joined(first.body, second.body, {**names, second.axis: first.axis})
            return replace(first, body=body)
        case Block(), Block() if len(first.statements) == len(second.statements):
            pairs = zip(first.statements, second.statements, strict=True)
            return Block(tuple(_joined(one, other, names) for one, other in pairs))
    return Block((first, with_axes(second, names)))


def _runs_alike(first: Loop, second: Loop) -> bool:
    if first.kind is not second.kind:
        return False
    ends = zip((first.begin, first.end), (second.begin, second.end), strict=True)
    return all(
        isinstance(one, Literal) and isinstance(other, Literal) and one.value == other.value
        for one, other in ends
    )
