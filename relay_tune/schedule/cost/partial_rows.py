"""What it costs that tiles read and write parts of rows, and parts of cache lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from relay_tune.machine.machine import LINE_BYTES, Machine
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.analysis import Access, NestAnalysis
from relay_tune.schedule.cost.fetched_operands import may_lie_in_pieces
from relay_tune.schedule.cost.load_count import tiled_axes, vector_axis
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis


def lies_in_panels(
    analysis: NestAnalysis, choice: TileChoice, access: Access, machine: Machine
) -> bool:
    """Whether the steps of a reduction read vectors of short rows, one behind the other."""
    vector = vector_axis(analysis.nest, choice)
    if access.constant or access.form is None or vector is None:
        return False
    if access.form.coefficient(vector) != 1 or not may_lie_in_pieces(analysis, access):
        return False
    steps = [access.form.coefficient(axis) for axis in analysis.nest.reduction]
    row = min(step for step in steps if step)
    return row > 1 and row * access.bytes < machine.coefficients.long_row


def torn_bytes(analysis: NestAnalysis, tile: Mapping[Axis, int], stored: int) -> float:
    """Bytes of cache lines that tiles touch a part of, beyond that part.

    Counted for what is stored, and read without a reduction; other tiles fetch them again.
    """
    torn = 0.0
    if analysis.store_form is not None:
        torn += _torn(analysis.store_form, analysis.store_bytes, tile) * stored
    if analysis.nest.body is not None:
        return torn
    for access in analysis.result_accesses:
        if access.form is not None:
            read = prod(axis.extent for axis in tile if access.form.coefficient(axis))
            torn += _torn(access.form, access.bytes, tile) * read * access.bytes
    return torn


def _torn(form: Affine, size: int, tile: Mapping[Axis, int]) -> float:
    """The bytes of the lines that a tile touches beside those that it wants, by the latter."""
    run = 1
    for axis in sorted(tile, key=form.coefficient):
        if form.coefficient(axis) == run:
            run *= tile[axis]
            if tile[axis] < axis.extent:
                break
    return max(LINE_BYTES / (run * size) - 1.0, 0.0)


def scattering(
    access: Access,
    analysis: NestAnalysis,
    choice: TileChoice,
    loops: Sequence[tuple[Axis, int]],
    machine: Machine,
) -> float:
    """What a tile pays for taking only a part of each row that a reduction step reads.

    Rows that are read whole follow each other in memory; packed constants always do. A row goes on
    in the tiles that follow as far as the innermost loops (`loops`, from the inside out) walk along
    it; a long part of it is as good as all.
    """
    form, known = access.form, machine.coefficients
    if form is None or access.constant:
        return 1.0
    tile = {axis: min(extent, axis.extent) for axis, extent in tiled_axes(analysis.nest, choice)}
    if lies_in_panels(analysis, choice, access, machine):
        steps = {axis: axis.extent for axis in analysis.nest.reduction}
        length = _run(form, {**tile, **steps}) * access.bytes
        return 1.0 if length >= known.long_row else known.partial_row
    axes = sorted((axis for axis in tile if form.coefficient(axis)), key=form.coefficient)
    if not axes or form.coefficient(axes[0]) != 1:
        return 1.0
    is_far = access.elements * access.bytes > machine.memories[1].bytes
    long = known.long_far_row if is_far and analysis.beside_windows else known.long_row
    run = dict(tile)
    for axis, count in loops:
        before = axes[: axes.index(axis)] if axis in axes else axes
        if count > 1 and (axis not in axes or any(run[a] < a.extent for a in before)):
            break
        run[axis] = min(run[axis] * count, axis.extent)
    length = access.bytes
    for axis in axes:
        length *= run[axis]
        if run[axis] < axis.extent:
            return known.partial_row if length < long else 1.0
    return 1.0


def _run(form: Affine, extents: Mapping[Axis, int]) -> int:
    """How many elements of a box of axes follow each other in memory before the first gap."""
    length = 1
    for axis in sorted((a for a in extents if form.coefficient(a)), key=form.coefficient):
        if form.coefficient(axis) != length:
            break
        length *= min(extents[axis], axis.extent)
    return length
