"""Long sums of products of arguments part by part, with both operands of a part in panels.

    before:  y[i, o] = sum(n, s) x[n, s, i] * d[n, s, o]
    after:   for m, c:  n = m * C + c
               x'[i // 16, s, i % 16] = x[n, s, i];  d'[o // 16, s, o % 16] = d[n, s, o]
               z[m, i, o] = (z[m, i, o] if c > 0 else 0) + sum(s) x'[.., s, ..] * d'[.., s, ..]
             y[i, o] = sum(m) z[m, i, o]

A register tile reads some columns of both operands in each step, and the next step lies a row
further on. Rows that are a kilobyte apart share a few sets of the first cache, so that each tile
fetches its lines from the second one, and with 16 registers it does little with a line: tiles of 6
by 16 wait a fifth of their time for these. In panels whose rows are lines, one behind the other, a
part of the columns stays in the first cache while tiles pass. This is the packing of both operands
of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 2008). The
products of a part ask for what the next one copies (`relay_tune.schedule.loops.prefetch`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_ELEMENTS
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.nests.index_divisions import split_divisions
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters, parameter
from relay_tune.schedule.rewrites.carried_parts import (
    added_up,
    carried_parts,
    cut_sum,
    grouped_parts,
)
from relay_tune.schedule.rewrites.needs import has_small_tiles
from relay_tune.schedule.rewrites.partial_sums import sum_of_parts
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Axis, Load, Reduce, Scalar, Tensor
from relay_tune.tensor.index import flat_place, simplify
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed, copy_of
from relay_tune.tensor.walk import axes_of, loads, replace_nodes, substitute

PART_STEPS = (128, 256)
"""Steps of a part, at most: panels of 128 lines leave room in a first cache of 32 KB for two, of
256 steps there are fewer parts whose results are added up."""


@dataclass(frozen=True, slots=True)
class PanelSums(Parameters):
    """Parameters of panel_sums.

    Attributes:
        steps: of a part, at most.
    """

    steps: int = parameter(among=PART_STEPS)


def _offers(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    constants = {tensor for tensor, _ in program.constants}
    stages = [stage for stage in tensors_in_order(program.outputs) if isinstance(stage, Computed)]
    for steps in PART_STEPS:
        if any(_in_panels(stage, steps, constants) for stage in stages):
            yield PanelSums(steps)


def panel_sums_program(program: TensorProgram, parameters: PanelSums) -> TensorProgram | None:
    """The program with its long sums in parts whose operands are panels; None if it has none."""

    def rewrite(stage: Computed, rewriting: Rewriting) -> Tensor | None:
        return _in_panels(rewriting.rebuilt(stage), parameters.steps, rewriting.constants)

    return with_rewritten_stages(program, rewrite)


def _in_panels(written: Computed, steps: int, constants: Collection[Tensor]) -> Computed | None:
    """The stage as the sum of parts that read panels; None where that is not worth it."""
    if not isinstance(written.body, Reduce) or any(map(is_symbolic, written.shape)):
        return None
    stage, indices = _without_divisions(written)
    cut = cut_sum(stage, steps, constants)
    if cut is None:
        return None
    part, total = cut.part, cut.part.body
    assert isinstance(total, Reduce)
    numbers = part.axes[: len(part.shape) - len(stage.shape)]
    panels: dict[Scalar, Scalar] = {}
    room = MAXIMUM_LOCAL_BYTES
    for load in loads(total.body):
        panel = _panel(load, numbers, part.axes[len(numbers) :], total.axes)
        if panel is None:
            return None
        panels[load] = panel
        room -= DTYPES[load.dtype].itemsize * prod(panel.tensor.shape[len(numbers) :])
    if room < 0:
        return None  # they were no group's own, but those of all parts
    copied = replace(part, body=replace(total, body=replace_nodes(total.body, panels)))
    found = sum_of_parts(stage, added_up(copied, cut.stored, len(stage.shape)), None)
    own = dict(zip(found.axes, indices, strict=True))
    body = simplify(substitute(found.body, own))
    return replace(found, shape=written.shape, axes=written.axes, body=body)


def _without_divisions(stage: Computed) -> tuple[Computed, list[Scalar]]:
    """A stage whose axes are cut where its sum divides them, and where the stage has its results.

    before:  y[i, o] = sum(n) x[n, o // 32 * 32 + i] * d[n, o]          32 channels of each group
    after:   y[i, g, o] = sum(n) x[n, g * 32 + i] * d[n, g * 32 + o]
    """
    parts, (body,) = split_divisions(stage.axes, [stage.body])
    axes = tuple(part for axis in stage.axes for part in parts[axis])
    indices: list[Scalar] = []
    for axis in stage.axes:
        inside = 1
        found: list[Scalar] = []
        for part in reversed(parts[axis]):
            outer = axis if inside == 1 else axis // inside
            found.append(outer if inside * part.extent == axis.extent else outer % part.extent)
            inside *= part.extent
        indices += reversed(found)
    shape = tuple(axis.extent for axis in axes)
    return replace(stage, shape=shape, axes=axes, body=body), indices


def _panel(
    load: Load, numbers: Sequence[Axis], results: Sequence[Axis], steps: Sequence[Axis]
) -> Load | None:
    """What reads an operand in panels, of axes of the result that fill lines; None if none does.

    A panel has a row for each step; there are panels of each part, for each other axis.
    """
    form = axis_affine(flat_place(load.tensor.shape, load.indices))
    used = set(axes_of(*load.indices))
    mine = [axis for axis in results if axis in used]
    if form is None or not mine:
        return None
    column = next((axis for axis in mine if form.coefficient(axis) == 1), mine[-1])
    if column.extent % LINE_ELEMENTS:
        return None
    outer = [axis for axis in mine if axis is not column]
    inner = [axis for axis in steps if axis in used]
    own = {axis: Axis(axis.name, axis.extent) for axis in (*numbers, *outer, *inner)}
    block = Axis(f"{column.name}o", column.extent // LINE_ELEMENTS)
    index = Axis(f"{column.name}i", LINE_ELEMENTS)
    before = [own[axis] for axis in (*numbers, *outer)]
    axes = (*before, block, *(own[axis] for axis in inner), index)
    panels = Computed(
        name=f"{load.tensor.name}_panel",
        shape=tuple(axis.extent for axis in axes),
        dtype=load.dtype,
        axes=axes,
        body=simplify(load, {**own, column: block * LINE_ELEMENTS + index}),
    )
    at = (*numbers, *outer, column // LINE_ELEMENTS, *inner, column % LINE_ELEMENTS)
    return copy_of(panels)[at]


PANEL_SUMS = Algorithm(
    "panel_sums",
    _offers,
    PanelSums,
    rewritten=panel_sums_program,
    nest=carried_parts,
    grouped=grouped_parts,
    needs=has_small_tiles,
    saving=1.0,
)
"""Long sums of products of arguments, in parts, both of whose operands are copied into panels."""
