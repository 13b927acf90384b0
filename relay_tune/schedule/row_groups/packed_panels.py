"""Panels of converted weights and the products that read them, as groups over panels.

for b in 0 .. 64                                          a panel of 48 columns
  local w': [768 * 48]
  for k, j: w'[k, j] = float(q[b, k, j]) * s[b, k, j]     constants in the order of this loop
  for i, j: y[i, 48 * b + j] = sum(k) x[i, k] * w'[k, j]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from relay_tune.schedule.nests.nest import Nest, with_roots
from relay_tune.schedule.packing import PackedAxis, PackedConstant, PackRecipe
from relay_tune.schedule.row_groups.groups import RowGroup, Step, with_groups
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES, RowBlocks, row_blocks
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Load, Scalar, Tensor, index_value
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.loops import Buffer, BufferScope
from relay_tune.tensor.tensor import Panels
from relay_tune.tensor.walk import loads, replace_nodes


def with_panel_blocks(
    steps: Sequence[Step], outputs: Sequence[Tensor]
) -> tuple[Step | RowBlocks, ...]:
    """The steps of a program with the products that read panels in blocks of one panel."""
    makers = {panels: step for step in steps if (panels := _panels(step)) is not None}
    found: list[Step | RowBlocks] = []
    for step in steps:
        if step in makers.values():
            continue
        found += _together(_makers(step, makers), step, outputs)
    return tuple(found)


def _makers(reader: Step, makers: dict[Panels, Step]) -> list[Step]:
    """The steps that make what one reads, and what those read; they are no longer among others."""
    found: list[Step] = []
    for panels in [each for each in makers if _reads(reader, each)]:
        own = makers.pop(panels)
        found += [*_makers(own, makers), own]
    return found


def _panels(step: Step) -> Panels | None:
    """The panels that a step makes."""
    if not isinstance(step, Nest):
        return None
    made = step.target.viewed if isinstance(step.target, FlatView) else None
    return made if isinstance(made, Panels) else None


def _reads(step: Step, panels: Panels) -> bool:
    if not isinstance(step, Nest):
        return False
    read = (load.tensor for root in step.roots for load in loads(root))
    return any(isinstance(each, FlatView) and each.viewed is panels for each in read)


def _together(
    makers: Sequence[Step], reader: Step, outputs: Sequence[Tensor]
) -> Sequence[Step | RowBlocks]:
    if not makers:
        return [reader]
    grouped = with_groups([*makers, reader], outputs, MAXIMUM_LOCAL_BYTES)
    return [_packed(row_blocks(e, 1)) if isinstance(e, RowGroup) else e for e in grouped]


def _packed(blocks: RowBlocks) -> RowBlocks:
    """The blocks, those nests that make panels reading constants in the order of their loops."""
    nests: list[Nest] = []
    packed: list[PackedConstant] = []
    for member, nest in zip(blocks.group.members, blocks.nests, strict=True):
        if _panels(member.nest) is None:
            nests.append(nest)
            continue
        own: dict[Scalar, Scalar] = {}
        for load in loads(nest.result):
            found = _packed_load(load, nest, blocks.base)
            if found is not None:
                own[load], constant = found
                packed.append(constant)
        roots = [replace_nodes(root, own) for root in nest.roots]
        nests.append(with_roots(nest, roots, nest.axes, nest.reduction))
    return replace(blocks, nests=tuple(nests), packed=tuple(packed))


def _packed_load(load: Load, nest: Nest, number: Axis) -> tuple[Load, PackedConstant] | None:
    """A load of a constant as one of a packed one; None where it does not move with the panels."""
    form = axis_affine(load.indices[0])
    *steps, column = nest.axes
    if form is None or not isinstance(load.tensor, FlatView) or not _is_regular(form, nest, number):
        return None
    plain = [axis for axis in steps if form.coefficient(axis)]
    apart = form.coefficient(plain[-1]) if plain else 1
    if apart > form.coefficient(column):  # neighbours are columns, not elements of a word
        apart = 1
    within = form.constant if form.constant < apart else 0
    axes = [PackedAxis(axis.extent, form.coefficient(axis), 1) for axis in plain]
    if apart > 1:  # elements of a word: each of them has a load
        axes.append(PackedAxis(apart, 1, 1))
    recipe = PackRecipe(
        form.constant - within,
        (PackedAxis(number.extent * column.extent, form.coefficient(column), column.extent),),
        tuple(axes),
    ).merged
    buffer = Buffer(
        name=f"{load.tensor.name}_packed",
        shape=(prod(recipe.shape),),
        dtype=load.tensor.dtype,
        scope=BufferScope.ARGUMENT,
    )
    index: Scalar = index_value(0)
    for axis in (number, *plain):
        index = index * axis.extent + axis
    index = (index * apart + within) * column.extent + column
    constant = PackedConstant(buffer, load.tensor.viewed, recipe)
    return Load(buffer, (index,), dtype=load.dtype), constant


def _is_regular(form: Affine, nest: Nest, number: Axis) -> bool:
    """Whether an index counts panels and the columns of one alike."""
    column = nest.axes[-1]
    if not form.terms.keys() <= {number, *nest.axes} or any(f < 0 for f in form.terms.values()):
        return False
    stride = form.coefficient(column)
    return stride > 0 and form.coefficient(number) == stride * column.extent
