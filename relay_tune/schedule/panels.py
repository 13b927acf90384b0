"""Operands of matrix products copied into panels, so that the kernel reads them in a line.

    before:  y[i, j] = sum(k) a[i, k] * b[k, j]
    after:   panel[j // 64, k, j % 64] = b[k, j]
             y[i, j] = sum(k) a[i, k] * panel[j // 64, k, j % 64]

Constants are packed when the program is built; what is only known at run time is copied, if each
element is used often enough. Without the copy every step of the reduction would touch another page,
or, with the operand stored the other way round, gather its vector element by element.

No width is known to divide an open size: all of j is one panel, if b is stored the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from relay_tune.schedule.inline import Stage
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Binary, Load, Reduce, Scalar, Tensor
from relay_tune.tensor.index import flat_index, is_injective, simplify
from relay_tune.tensor.size import is_symbolic, nominal
from relay_tune.tensor.tensor import Computed, ProcedureOutput
from relay_tune.tensor.walk import axes_of, loads, replace_nodes, substitute

PANEL_WIDTHS = (64, 48, 32, 16)
LEAST_USES = 32
"""An element that is used less often is not worth a copy."""

LEAST_BYTES = 32 << 10
"""An operand that stays in the first cache is read as it lies, if its vectors are contiguous."""


def with_panels(
    stages: Sequence[Stage | ProcedureOutput], constants: frozenset[Tensor]
) -> list[Stage | ProcedureOutput]:
    """The stages with copies of operands in front of the reductions that profit from them."""
    found: list[Stage | ProcedureOutput] = []
    for stage in stages:
        panel = None if isinstance(stage, ProcedureOutput) else _panel(stage, constants)
        found += [stage] if panel is None else panel
    return found


def _panel(stage: Stage, constants: frozenset[Tensor]) -> list[Stage | ProcedureOutput] | None:
    """The copy and the stage that reads it, or None."""
    body = stage.body
    if not isinstance(body, Reduce) or body.operation != "sum" or not stage.axes:
        return None
    if not isinstance(body.body, Binary) or body.body.operation != "mul":
        return None
    column = stage.axes[-1]
    width = _width(column.extent)
    if width is None:
        return None
    for load in loads(body.body):
        if load.tensor not in constants and _is_worth_copying(load, stage, body, column):
            return _copied(load, stage, body, column, width)
    return None


def _width(extent: int) -> int | None:
    """The columns of a panel: a number that divides all, or all if that is known at run time."""
    if is_symbolic(extent):
        return extent
    return next((width for width in PANEL_WIDTHS if extent % width == 0), None)


def _is_worth_copying(load: Load, stage: Stage, body: Reduce, column: Axis) -> bool:
    form = axis_affine(simplify(flat_index(load.tensor.shape, load.indices)))
    if form is None or not form.coefficient(column):
        return False
    used = [axis for axis in (*stage.axes, *body.axes) if form.coefficient(axis)]
    if not any(axis in used for axis in body.axes) or not is_injective(form, used):
        return False
    uses = prod(axis.extent for axis in stage.axes if not form.coefficient(axis))
    if nominal(uses) < LEAST_USES:
        return False
    if is_symbolic(column.extent):
        return form.coefficient(column) != 1
    panel_bytes = 4 * column.extent * prod(a.extent for a in body.axes if a in used)
    return form.coefficient(column) != 1 or nominal(panel_bytes) > LEAST_BYTES


def _copied(
    load: Load, stage: Stage, body: Reduce, column: Axis, width: int
) -> list[Stage | ProcedureOutput]:
    """The stage that copies what `load` reads, and the stage with its load replaced."""
    used = set(axes_of(load))
    outer = [axis for axis in stage.axes[:-1] if axis in used]
    inner = [axis for axis in body.axes if axis in used]
    own = {axis: Axis(axis.name, axis.extent) for axis in (*outer, *inner)}
    place = Axis(f"{column.name}i", width)
    if width == column.extent:
        axes = (*(own[a] for a in outer), *(own[a] for a in inner), place)
        element = simplify(substitute(load, {**own, column: place}))
        read_at: tuple[Scalar, ...] = (*outer, *inner, column)
    else:
        block = Axis(f"{column.name}o", column.extent // width)
        axes = (*(own[a] for a in outer), block, *(own[a] for a in inner), place)
        element = simplify(substitute(load, {**own, column: block * width + place}))
        read_at = (*outer, column // width, *inner, column % width)
    shape = tuple(axis.extent for axis in axes)
    panel = Computed(
        name=f"{load.tensor.name}_panel", shape=shape, dtype=load.dtype, axes=axes, body=element
    )
    changed = replace(stage, body=replace_nodes(body, {load: panel[read_at]}))
    return [Stage(panel, axes, element), changed]
