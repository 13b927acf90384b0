"""A loop nest, before any choice of how it runs.

It computes one stored tensor: a reduction with all that is done to its result (the epilogue), or
elements that need no reduction. Accesses are flat:

    axes (p, o), reduction (c): relu(sum(x[p * C + c] * weight[o * C + c]) + bias[o]) at p * O + o
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from relay_tune.machine.pattern import TilePattern
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Axis, Scalar, Tensor, index_value
from relay_tune.tensor.index import can_fuse, simplify


@dataclass(frozen=True, eq=False, slots=True)
class Nest:
    """One loop nest.

    Attributes:
        name: of the tensor that it computes.
        axes: the output axes, outermost first as stored by default.
        reduction: the axes that are reduced over; empty for elementwise nests.
        operation: how they are reduced, or None.
        body: what is reduced (None without reduction).
        accumulator: a rank-0 tensor whose load in `result` stands for the reduced value.
        result: the value to store.
        target: the flat view of the stored tensor.
        index: where in it the value goes.
        pattern: of the intrinsic that its algorithm has sums run on, if it has one.
        inside: the condition under which an element is stored; None if all are. Where it does not
            hold, the result is of no use, but can be computed. It holds for all elements before one
            for which it holds, and lanes of a vector agree on it.
        carried: those of the axes that are parts of its sum: the parts are added up in their order,
            where the result is stored (see `carried_sums`).
    """

    name: str
    axes: tuple[Axis, ...]
    reduction: tuple[Axis, ...]
    operation: str | None
    body: Scalar | None
    accumulator: Tensor
    result: Scalar
    target: Tensor
    index: Scalar
    pattern: TilePattern | None = None
    inside: Scalar | None = None
    carried: tuple[Axis, ...] = ()

    @property
    def roots(self) -> tuple[Scalar, ...]:
        """All expressions of the nest."""
        values = (self.body, self.result, self.inside)
        return (*(value for value in values if value is not None), self.index)

    @property
    def points(self) -> int:
        """How often the body is evaluated."""
        return prod(axis.extent for axis in (*self.axes, *self.reduction))


def with_roots(
    nest: Nest, roots: Sequence[Scalar], axes: Sequence[Axis], reduction: Sequence[Axis]
) -> Nest:
    """The nest with other expressions, in the order of `Nest.roots`, and axes."""
    *values, index = roots
    inside = None if nest.inside is None else values.pop()
    *body, result = values
    return replace(
        nest,
        body=body[0] if body else None,
        result=result,
        inside=inside,
        index=index,
        axes=tuple(axes),
        reduction=tuple(reduction),
    )


def fuse_axes(nest: Nest) -> Nest:
    """Fuse neighbours as long as any two always occur as one index."""
    axes, roots = _fuse(list(nest.axes), list(nest.roots))
    reduction, roots = _fuse(list(nest.reduction), roots)
    return with_roots(nest, roots, axes, reduction)


def _fuse(axes: list[Axis], roots: list[Scalar]) -> tuple[list[Axis], list[Scalar]]:
    position = 0
    while position + 1 < len(axes):
        outer, inner = axes[position], axes[position + 1]
        if not can_fuse(outer, inner, roots):
            position += 1
            continue
        fused = Axis(f"{outer.name}{inner.name}"[:12], outer.extent * inner.extent)
        mapping: dict[Axis, Scalar] = {outer: index_value(0), inner: fused}
        roots = [simplify(root, mapping) for root in roots]
        axes[position : position + 2] = [fused]
        position = max(position - 1, 0)
    return axes, roots
