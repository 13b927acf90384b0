"""Operands of matrix products copied into panels, so that the kernel reads them in a line.

    before:  y[i, j] = sum(k) a[i, k] * b[k, j]
    after:   panel[j // 64, k, j % 64] = b[k, j]
             y[i, j] = sum(k) a[i, k] * panel[j // 64, k, j % 64]

Constants are packed when the program is built; what is only known at run time is copied, if each
element is used often enough. Without the copy every step of the reduction would touch another page,
or, with the operand stored the other way round, gather its vector element by element.

No width is known to divide an open size. Where stages of their own read the product, as those of
softmax read scores, it is computed for whole panels, whose last one is filled up with zeros:

    panel[j // 32, k, j % 32] = b[j, k] if j < n else 0
    y[i, j // 32, j % 32] = sum(k) a[i, k] * panel[j // 32, k, j % 32]

Else all of j is one panel, if b is stored the other way round: its rows lie n elements apart.

Columns that no width divides are computed in two parts, each with a panel of its own:

    y[i, j] = main[i, j] if j < 960 else rest[i, j - 960]         1000 columns: 15 * 64, and 40

Where the parts could not be joined without a copy, or the columns are few, those that lie apart
become one panel, whose rows begin with a line each: 197 of 208 elements, the rest is never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from relay_tune.machine.machine import LINE_ELEMENTS
from relay_tune.schedule.nests.inline import Stage
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import (
    PRODUCTS,
    Axis,
    Binary,
    Load,
    Reduce,
    Scalar,
    Select,
    Tensor,
    binary,
    literal,
    reduce,
    select,
)
from relay_tune.tensor.index import flat_place, is_injective, simplify
from relay_tune.tensor.size import ceiling_quotient, is_multiple, is_symbolic, nominal
from relay_tune.tensor.tensor import Computed, ProcedureOutput
from relay_tune.tensor.walk import axes_of, loads, replace_nodes, substitute

PANEL_WIDTHS = (64, 48, 32, 16)
OPEN_WIDTH = 32
"""The columns of a panel where their number is open: what tiles of all machines divide, and few
columns are computed for nothing."""

LEAST_USES = 32
"""An element that is used less often is not worth a copy."""

LEAST_SPLIT = 96
"""Fewer columns are not computed in two parts."""

CROWDED_LINES = 8
"""Rows that are a multiple of so many lines apart lie in few sets of L1."""

LEAST_BYTES = 32 << 10
"""An operand that stays in the first cache is read as it lies, if its vectors are contiguous."""


def with_panels(
    stages: Sequence[Stage | ProcedureOutput],
    constants: frozenset[Tensor],
    outputs: Sequence[Tensor] = (),
) -> list[Stage | ProcedureOutput]:
    """The stages with copies of operands in front of the reductions that profit from them.

    Columns are computed in parts where the joining stage becomes a part of its only reader, or is
    an output: groups of nests that share rows (see `groups`) want whole tensors between them.
    """
    readers: dict[Tensor, list[Stage | ProcedureOutput]] = {}
    for stage in stages:
        for tensor in _read(stage):
            readers.setdefault(tensor, []).append(stage)
    found: list[Stage | ProcedureOutput] = []
    joined: dict[Stage, Stage] = {}
    padded: dict[Tensor, Tensor] = {}
    for each in stages:
        if isinstance(each, ProcedureOutput):
            found.append(each)
            continue
        stage = _reading_padded(each, padded)
        mine = readers.get(stage.tensor, ())
        into = _only_reader(mine)
        if into is None and stage.tensor not in outputs and _are_stages(mine):
            lines = _in_open_panels(stage, constants)
            if lines:
                padded[stage.tensor] = lines[-1].tensor
                found += lines
                continue
        is_output = stage.tensor in outputs
        may_join = stage.tensor not in readers if is_output else into is not None
        parts = _panel(stage, constants, may_join) or [stage]
        found += parts
        last = parts[-1]
        is_joining = isinstance(last, Stage) and last is not stage and isinstance(last.body, Select)
        if is_joining and into is not None and not is_output:
            assert isinstance(last, Stage)
            joined[last] = into
    return _with_readers(found, joined)


def _are_stages(readers: Sequence[Stage | ProcedureOutput]) -> bool:
    """Whether stages alone read something."""
    return bool(readers) and all(isinstance(reader, Stage) for reader in readers)


def _in_open_panels(stage: Stage, constants: frozenset[Tensor]) -> list[Stage]:
    """The copy, and the product of as many columns as whole panels have; none where it has none."""
    body, column = stage.body, stage.axes[-1] if stage.axes else None
    if column is None or not is_symbolic(column.extent) or not _is_product(body):
        return []
    assert isinstance(body, Reduce)
    copied = (load for load in loads(body.body) if load.tensor not in constants)
    load = next((each for each in copied if _is_worth_copying(each, stage, body, column)), None)
    if load is None or any(column in axes_of(each) for each in loads(body.body) if each != load):
        return []
    panel, outer, inner = _blocks(load, stage, body, column, OPEN_WIDTH)
    block, within = (
        Axis(axis.name, axis.extent) for axis in (panel.axes[len(outer)], panel.axes[-1])
    )
    total = replace_nodes(body, {load: panel.tensor[(*outer, block, *inner, within)]})
    rows = (*stage.axes[:-1], block, within)
    shape = tuple(axis.extent for axis in rows)
    wide = Computed(
        name=stage.tensor.name, shape=shape, dtype=stage.tensor.dtype, axes=rows, body=total
    )
    return [panel, Stage(wide, rows, total)]


def _reading_padded(stage: Stage, padded: Mapping[Tensor, Tensor]) -> Stage:
    """A stage that reads columns in the panels that they were computed in."""
    own: dict[Scalar, Scalar] = {}
    for load in loads(stage.body):
        if load.tensor in padded:
            *outer, column = load.indices
            at = (*outer, column // OPEN_WIDTH, column % OPEN_WIDTH)
            own[load] = padded[load.tensor][at]
    return replace(stage, body=simplify(replace_nodes(stage.body, own))) if own else stage


def _is_product(body: Scalar) -> bool:
    """Whether a stage sums products."""
    if not isinstance(body, Reduce) or body.operation != "sum":
        return False
    return isinstance(body.body, Binary) and body.body.operation in PRODUCTS


def _only_reader(readers: Sequence[Stage | ProcedureOutput]) -> Stage | None:
    """The stage that alone reads something, if it is no reduction."""
    reader = readers[0] if len(readers) == 1 else None
    return reader if isinstance(reader, Stage) and not isinstance(reader.body, Reduce) else None


def _with_readers(
    stages: list[Stage | ProcedureOutput], joined: Mapping[Stage, Stage]
) -> list[Stage | ProcedureOutput]:
    """The stages with joining ones put into those that read them."""
    changed = list(stages)
    for joining, reader in joined.items():
        position = next(
            n for n, s in enumerate(changed) if isinstance(s, Stage) and s.tensor is reader.tensor
        )
        now = changed[position]
        assert isinstance(now, Stage)
        own: dict[Scalar, Scalar] = {
            load: substitute(joining.body, dict(zip(joining.axes, load.indices, strict=True)))
            for load in loads(now.body)
            if load.tensor is joining.tensor
        }
        changed[position] = replace(now, body=simplify(replace_nodes(now.body, own)))
        changed.remove(joining)
    return changed


def _read(stage: Stage | ProcedureOutput) -> set[Tensor]:
    if isinstance(stage, ProcedureOutput):
        return set(stage.procedure.inputs)
    return {load.tensor for load in loads(stage.body)}


def _panel(
    stage: Stage, constants: frozenset[Tensor], may_join: bool
) -> list[Stage | ProcedureOutput] | None:
    """The copies and the stages that read them, or None; the last stage is what `stage` was."""
    body = stage.body
    if not _is_product(body) or not stage.axes:
        return None
    assert isinstance(body, Reduce)
    column = stage.axes[-1]
    width = panel_width(column.extent)
    for load in loads(body.body):
        if load.tensor in constants or not _is_worth_copying(load, stage, body, column):
            continue
        if width is not None:
            return _copied(load, stage, body, column, width)
        if may_join and column.extent >= LEAST_SPLIT:
            return _in_parts(stage, body, load)
        if column.extent < LINE_ELEMENTS or _is_contiguous(load, column):
            return None
        return _copied(load, stage, body, column, column.extent)
    return None


def panel_width(extent: int) -> int | None:
    """The columns of a panel: a number that divides all, or all if that is known at run time."""
    if is_symbolic(extent):
        return extent
    return next((width for width in PANEL_WIDTHS if extent % width == 0), None)


def row_length(width: int) -> int:
    """From one row of a panel to the next: whole lines, and no number of them that shares sets.

    As they lie where that is open.
    """
    if is_symbolic(width) or width in PANEL_WIDTHS:
        return width
    lines = -(-width // LINE_ELEMENTS)
    return (lines + (lines % CROWDED_LINES == 0)) * LINE_ELEMENTS


def _in_parts(stage: Stage, body: Reduce, load: Load) -> list[Stage | ProcedureOutput]:
    """The columns that the widest panels take, the others, and what joins them."""
    column, width = stage.axes[-1], PANEL_WIDTHS[0]
    whole = column.extent - column.extent % width
    found: list[Stage | ProcedureOutput] = []
    parts: list[Tensor] = []
    for begin, count, panel in ((0, whole, width), (whole, column.extent - whole, 0)):
        axes = (*(Axis(a.name, a.extent) for a in stage.axes[:-1]), Axis(column.name, count))
        steps = [Axis(a.name, a.extent) for a in body.axes]
        own: dict[Axis, Scalar] = dict(zip((*stage.axes, *body.axes), (*axes, *steps), strict=True))
        own[column] = axes[-1] + begin
        copied = substitute(load, own)
        product = substitute(replace_nodes(body.body, {load: copied}), own)
        total = reduce(body.operation, steps, product)
        assert isinstance(copied, Load) and isinstance(total, Reduce)
        shape = tuple(axis.extent for axis in axes)
        part = Computed(
            name=stage.tensor.name, shape=shape, dtype=stage.tensor.dtype, axes=axes, body=total
        )
        found += _copied(copied, Stage(part, axes, total), total, axes[-1], panel or count)
        parts.append(part)
    outer = stage.axes[:-1]
    chosen = select(
        binary("lt", column, whole),
        parts[0][(*outer, column)],
        parts[1][(*outer, column - whole)],
    )
    return [*found, replace(stage, body=chosen)]


def _is_worth_copying(load: Load, stage: Stage, body: Reduce, column: Axis) -> bool:
    form = axis_affine(flat_place(load.tensor.shape, load.indices))
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
    # An open operand of just LEAST_BYTES in one example is larger in the next one.
    stays = nominal(panel_bytes) < LEAST_BYTES + (not is_symbolic(panel_bytes))
    if form.coefficient(column) != 1:
        return True
    return not stays and not lies_as_panel(form, [a for a in body.axes if a in used], column)


def _is_contiguous(load: Load, column: Axis) -> bool:
    """Whether neighbouring columns of an operand lie beside each other."""
    form = axis_affine(flat_place(load.tensor.shape, load.indices))
    return form is not None and form.coefficient(column) == 1


def lies_as_panel(form: Affine, rows: Sequence[Axis], column: Axis) -> bool:
    """Whether an operand is panels already, one or more: a copy would be the same again."""
    width, apart = panel_width(column.extent) or column.extent, row_length(column.extent)
    if width != column.extent:
        return False
    for axis in reversed(rows):
        if form.coefficient(axis) != apart:
            return False
        apart *= axis.extent
    return True


def _copied(
    load: Load, stage: Stage, body: Reduce, column: Axis, width: int
) -> list[Stage | ProcedureOutput]:
    """The stage that copies what `load` reads, and the stage with its load replaced."""
    if width == column.extent:
        panel, outer, inner = _one_panel(load, stage, body, column)
        read_at: tuple[Scalar, ...] = (*outer, *inner, column)
    else:
        panel, outer, inner = _blocks(load, stage, body, column, width)
        read_at = (*outer, column // width, *inner, column % width)
    return [panel, replace(stage, body=replace_nodes(body, {load: panel.tensor[read_at]}))]


def _one_panel(
    load: Load, stage: Stage, body: Reduce, column: Axis
) -> tuple[Stage, list[Axis], list[Axis]]:
    """The copy whose rows have all columns, and the axes around them and of their number."""
    outer, inner, own = _axes_of_panels(load, stage, body)
    within = Axis(f"{column.name}i", column.extent)
    axes = (*(own[a] for a in outer), *(own[a] for a in inner), within)
    element = simplify(load, {**own, column: within})
    return _stage(load, axes, row_length(column.extent), element), outer, inner


def _blocks(
    load: Load, stage: Stage, body: Reduce, column: Axis, width: int
) -> tuple[Stage, list[Axis], list[Axis]]:
    """The copy in panels of so many columns, the last of which may be filled up with zeros."""
    outer, inner, own = _axes_of_panels(load, stage, body)
    block = Axis(f"{column.name}o", ceiling_quotient(column.extent, width))
    within = Axis(f"{column.name}i", width)
    at = block * width + within
    element = simplify(load, {**own, column: at})
    if not is_multiple(column.extent, width):
        element = select(binary("lt", at, column.extent), element, literal(0, load.dtype))
    axes = (*(own[a] for a in outer), block, *(own[a] for a in inner), within)
    return _stage(load, axes, row_length(width), element), outer, inner


def _axes_of_panels(
    load: Load, stage: Stage, body: Reduce
) -> tuple[list[Axis], list[Axis], dict[Axis, Axis]]:
    """The axes of a result and of its sum that an operand has, and axes of its copy for them."""
    used = set(axes_of(load))
    outer = [axis for axis in stage.axes[:-1] if axis in used]
    inner = [axis for axis in body.axes if axis in used]
    return outer, inner, {axis: Axis(axis.name, axis.extent) for axis in (*outer, *inner)}


def _stage(load: Load, axes: tuple[Axis, ...], row: int, element: Scalar) -> Stage:
    """The stage of a copy; `row` is the room of each of its rows."""
    shape = (*(axis.extent for axis in axes[:-1]), row)
    name = f"{load.tensor.name}_panel"
    panel = Computed(name=name, shape=shape, dtype=load.dtype, axes=axes, body=element)
    return Stage(panel, axes, element)
