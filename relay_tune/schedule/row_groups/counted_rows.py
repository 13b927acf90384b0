"""Rows that a member counts by several axes, counted by one as the other members do.

    before:  y[(4 * i + r) * W + 4 * j + s]  reads  t[i * columns + j, ..]     i, j count the tiles
    after:   the same with i = tile // columns and j = tile % columns

A block of rows goes on in the next row of tiles then, and has as many tiles wherever it begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from relay_tune.schedule.nests.nest import Nest, with_roots
from relay_tune.schedule.row_groups.groups import Member, RowGroup
from relay_tune.schedule.row_groups.row_axes import RowAxis
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Load, Scalar, binary
from relay_tune.tensor.index import expression_of, simplify
from relay_tune.tensor.walk import loads, replace_nodes


def counted_together(group: RowGroup) -> RowGroup:
    """The group with one axis for the rows of each member whose axes count nothing but rows."""
    return replace(group, members=tuple(map(_counted_together, group.members)))


def _counted_together(member: Member) -> Member:
    nest, rows = member.nest, member.rows
    if len(rows) < 2 or any(row.inside != 1 for row in rows):
        return member
    axis = Axis("rows", prod(row.extent for row in rows))
    strides: dict[Axis, int] = {}
    step = 1
    for row in reversed(rows):
        strides[row.axis] = step
        step *= row.extent
    axes = (axis, *(each for each in nest.axes if each not in strides))
    counted = _as_rows(nest, strides, axis)
    roots = [simplify(root, _digits(axis, rows, strides)) for root in counted.roots]
    return Member(with_roots(counted, roots, axes, nest.reduction), (RowAxis(axis, axis.extent),))


def _digits(
    axis: Axis, rows: tuple[RowAxis, ...], strides: Mapping[Axis, int]
) -> dict[Axis, Scalar]:
    """What each of the axes is at a row.

    The minimum changes nothing: estimates know by it that the axis counts the rows of an image.
    """
    row = binary("min", axis, axis.extent - 1)
    first, *others = rows
    values = {each.axis: row // strides[each.axis] % each.extent for each in others}
    return {first.axis: row // strides[first.axis], **values}


def _as_rows(nest: Nest, strides: Mapping[Axis, int], axis: Axis) -> Nest:
    """A nest whose loads of rows have the axis of rows in place of those that count them."""
    innermost = next(iter(strides))
    roots = []
    for root in nest.roots:
        own: dict[Scalar, Scalar] = {}
        for load in loads(root):
            form = axis_affine(load.indices[0])
            if form is None:
                continue
            step = form.coefficient(innermost)
            if step and all(form.coefficient(a) == step * n for a, n in strides.items()):
                for each in strides:
                    form = form.without(each)
                own[load] = Load(
                    load.tensor, (axis * step + expression_of(form),), dtype=load.dtype
                )
        roots.append(replace_nodes(root, own))
    return with_roots(nest, roots, nest.axes, nest.reduction)
