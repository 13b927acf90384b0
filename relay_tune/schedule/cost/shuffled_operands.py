"""Operands whose elements several lanes share: vectors that are loaded whole, then shuffled.

    x[w * 128 + (o // 4) * 4 + c]      o along the lanes: one vector of x gives those of c = 0 .. 3

A shuffle takes the place of arithmetic, and processors do one in a cycle. The whole vectors stay in
registers while written-out steps pick one element after another.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.schedule.cost.analysis import Access
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis


def picks(access: Access, axis: Axis) -> bool:
    """Whether the steps along an axis pick different elements out of the same vectors."""
    return access.form is not None and 0 < access.form.coefficient(axis) < access.repeats


def whole_vectors(
    access: Access, reduction: tuple[Axis, ...], unrolled: Mapping[Axis, int] | None = None
) -> Affine:
    """The form of an access without the axes that pick elements out of its vectors.

    Where not all steps of an axis are `unrolled`, vectors begin where it says instead.
    """
    assert access.form is not None
    form = access.form
    if not access.repeats:
        return form
    for axis in reduction:
        is_whole = unrolled is None or unrolled.get(axis, 1) == axis.extent
        form = form.without(axis) if picks(access, axis) and is_whole else form
    return form


def steps_within(access: Access, unrolled: Mapping[Axis, int]) -> dict[Axis, int] | None:
    """The written-out steps between two picks out of a vector, None if each vector has one.

    `unrolled` are all steps that are written out, those of the innermost axis first.
    """
    inside: dict[Axis, int] = {}
    for axis, steps in unrolled.items():
        if picks(access, axis):
            return inside if steps > 1 else None
        inside[axis] = steps
    return None
