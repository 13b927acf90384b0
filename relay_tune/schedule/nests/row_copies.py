"""Operands of matrix products whose steps lie pages apart, copied so that they lie in a line.

    before:  y[i, j] = sum(k) a[k, i] * b[k, j]                           a: [1600, 2048]
    after:   a_rows[i, k] = a[k, i]
             y[i, j] = sum(k) a_rows[i, k] * b[k, j]

A tile of 6 rows reads 6 neighbours of `a` in each step, and the next tile those beside them, in the
same lines. Where steps are a multiple of a page apart, all their lines want one set of L1, and few
sets of L2: none is there any more when the next tile comes, and it is another page each time.
Gradients of weights are such products, of layers with many outputs.

One core of Zen 5, 1600 steps, 512 columns, ms: 2048 rows 22.0 as they lie, 13.0 and 0.6 copied;
2000 rows 14.3 as they lie. With 128 steps 1.30, and 1.04 and .04; with 64, 512 rows .13 and .13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import PAGE_BYTES
from relay_tune.schedule.nests.inline import Stage
from relay_tune.schedule.nests.panels import row_length
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import PRODUCTS, Axis, Binary, Load, Reduce, Tensor
from relay_tune.tensor.index import flat_place, is_injective, simplify
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed, ProcedureOutput
from relay_tune.tensor.walk import axes_of, loads, replace_nodes

LEAST_STEPS = 128
"""Fewer lines stay in the second cache until the next tile."""

LEAST_USES = 256
"""With fewer columns the copy takes as long as it saves: 64 columns, 2.14 ms and 1.55 + .62."""


def with_row_copies(
    stages: Sequence[Stage | ProcedureOutput], constants: frozenset[Tensor]
) -> list[Stage | ProcedureOutput]:
    """The stages with copies in front of the products that profit from them."""
    found: list[Stage | ProcedureOutput] = []
    for stage in stages:
        found += _copied(stage, constants) if isinstance(stage, Stage) else [stage]
    return found


def _copied(stage: Stage, constants: frozenset[Tensor]) -> list[Stage]:
    body = stage.body
    if not isinstance(body, Reduce) or body.operation != "sum" or not stage.axes:
        return [stage]
    if not isinstance(body.body, Binary) or body.body.operation not in PRODUCTS:
        return [stage]
    extents = [axis.extent for axis in (*stage.axes, *body.axes)]
    if any(map(is_symbolic, extents)):
        return [stage]
    for load in loads(body.body):
        if load.tensor not in constants and _is_worth_copying(load, stage, body):
            return _with_copy(load, stage, body)
    return [stage]


def _is_worth_copying(load: Load, stage: Stage, body: Reduce) -> bool:
    form = axis_affine(flat_place(load.tensor.shape, load.indices))
    if form is None or form.coefficient(stage.axes[-1]):
        return False
    used = [axis for axis in (*stage.axes, *body.axes) if form.coefficient(axis)]
    rows = [axis for axis in stage.axes if form.coefficient(axis) == 1 and axis.extent > 1]
    if len(rows) != 1 or not is_injective(form, used):
        return False
    uses = prod(axis.extent for axis in stage.axes if not form.coefficient(axis))
    return uses >= LEAST_USES and are_pages_apart(form, body.axes, load)


def are_pages_apart(form: Affine, steps: Sequence[Axis], load: Load) -> bool:
    """Whether each step along some axes is whole pages behind the one before, and they are many."""
    size = DTYPES[load.dtype].itemsize
    apart = [axis for axis in steps if axis.extent > 1]
    if any(not form.coefficient(axis) for axis in apart):
        return False
    crowded = [axis for axis in apart if form.coefficient(axis) * size % PAGE_BYTES == 0]
    return crowded == apart and prod(axis.extent for axis in crowded) >= LEAST_STEPS


def _with_copy(load: Load, stage: Stage, body: Reduce) -> list[Stage]:
    """The stage that copies what `load` reads, and the stage with its load replaced."""
    copied = row_copy(load, (*stage.axes, *body.axes))
    copy = copied.tensor
    assert isinstance(copy, Computed)
    changed = replace(stage, body=replace_nodes(body, {load: copied}))
    return [Stage(copy, copy.axes, copy.body), changed]


def row_copy(load: Load, axes: Sequence[Axis]) -> Load:
    """What reads a copy of what a load reads, whose rows are steps along the last of some axes.

    Of these, outermost first, the copy has those that the load depends on.
    """
    used = set(axes_of(load))
    read_at = [axis for axis in axes if axis in used]
    own = {axis: Axis(axis.name, axis.extent) for axis in read_at}
    copied = tuple(own.values())
    copy = Computed(
        name=f"{load.tensor.name}_rows",
        shape=(*(axis.extent for axis in copied[:-1]), row_length(copied[-1].extent)),
        dtype=load.dtype,
        axes=copied,
        body=simplify(load, {**own}),
    )
    return copy[tuple(read_at)]
