"""Products whose steps share few sets of the first cache, with rows copied into lines.

    before:  y[i, j] = sum(k) a[k, i] * b[k, j]                            a: [1024, 256]
    after:   a_rows[i, k] = a[k, i]
             y[i, j] = sum(k) a_rows[i, k] * b[k, j]

A tile of 6 rows reads 24 bytes of each line of `a`, and the next tile those beside them. Rows of
256 numbers are 1024 bytes apart: they share four of the 64 sets of a first cache of 32 KB, so that
each step waits for its line once more. Where steps are whole pages apart, every plan has such
copies (`row_copies`).

    turned:  b_rows[j, k] = b[k, j]
             z[j, i] = sum(k) b_rows[j, k] * a[k, i]
             y[i, j] = z[j, i]

Vectors go along the last axis of a product, whose operand lies as a panel. Turned, the operand of
the other axis does, and the smaller one is copied. Results are turned when they are stored.
Gradients of weights are such products.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.nests.panels import CROWDED_LINES
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.nests.row_copies import are_pages_apart, row_copy
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters, parameter
from relay_tune.schedule.rewrites.needs import has_small_tiles
from relay_tune.schedule.rewrites.products import factors
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Load, Reduce, Scalar, Tensor
from relay_tune.tensor.index import flat_place, is_injective
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed, compute, copy_of
from relay_tune.tensor.walk import replace_nodes

LEAST_USES = 128
"""With fewer columns the copy takes as long as it saves."""

LEAST_STEPS = 48
"""So few lines stay in the first cache."""


@dataclass(frozen=True, slots=True)
class CopiedRows(Parameters):
    """Parameters of copied_rows.

    Attributes:
        turned: whether the other axis comes last in the product.
    """

    turned: bool = parameter(among=(False, True), default=False, orders_sums=False)


@dataclass(frozen=True, slots=True)
class _Operands:
    """A product of two matrices as they lie, steps outermost.

    Attributes:
        rows: the load that has not the last axis.
        columns: the other one.
        position: of the axis of the stage along which `rows` lies in a line.
    """

    rows: Load
    columns: Load
    position: int


def _offers(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    constants = {tensor for tensor, _ in program.constants}
    stages = [stage for stage in tensors_in_order(program.outputs) if isinstance(stage, Computed)]
    found = [(stage, own) for stage in stages if (own := _operands(stage, constants))]
    if any(not _is_copied_anyway(own.rows, stage) for stage, own in found):
        yield CopiedRows()
    if any(stage.shape[own.position] > stage.shape[-1] for stage, own in found):
        yield CopiedRows(turned=True)


def _is_copied_anyway(load: Load, stage: Computed) -> bool:
    form, total = _form(load), stage.body
    assert form is not None and isinstance(total, Reduce)
    return are_pages_apart(form, total.axes, load)


def copied_rows_program(program: TensorProgram, parameters: CopiedRows) -> TensorProgram | None:
    """The program with the rows of such products copied; None if it has none."""

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        if _operands(stage, rewriting.constants) is None:
            return None
        now = rewriting.rebuilt(stage)
        found = _operands(now, ())
        assert found is not None
        if not parameters.turned:
            return replace(now, body=_with_copy(found.rows, now))
        order = [*(n for n in range(len(now.axes)) if n != found.position), found.position]
        axes = tuple(now.axes[n] for n in order)
        shape = tuple(axis.extent for axis in axes)
        turned = replace(now, axes=axes, shape=shape)
        turned = replace(turned, body=_with_copy(found.columns, turned))
        return compute(now.name, now.shape, lambda *at: turned[tuple(at[n] for n in order)])

    return with_rewritten_stages(program, rewrite)


def _operands(stage: Computed, constants: Collection[Tensor]) -> _Operands | None:
    """The operands of a product whose rows share few sets; None if a stage is no such one."""
    if len(stage.shape) < 2 or any(map(is_symbolic, stage.shape)):
        return None
    for total, rows, columns in factors(stage):
        if {rows.tensor, columns.tensor} & set(constants):
            return None
        if any(is_symbolic(axis.extent) for axis in total.axes):
            return None
        position = _row_position(rows, stage, total)
        other = _form(columns)
        if position is None or other is None or other.coefficient(stage.axes[position]):
            continue
        if other.coefficient(stage.axes[-1]) != 1 or not _is_crowded(_form(rows), rows, total):
            continue
        return _Operands(rows, columns, position)
    return None


def _row_position(load: Load, stage: Computed, total: Reduce) -> int | None:
    """The position of the axis along which an operand without the last axis lies in a line."""
    form = _form(load)
    if form is None or form.coefficient(stage.axes[-1]):
        return None
    used = [axis for axis in (*stage.axes, *total.axes) if form.coefficient(axis)]
    positions = [n for n, a in enumerate(stage.axes) if form.coefficient(a) == 1 and a.extent > 1]
    uses = prod(axis.extent for axis in stage.axes if not form.coefficient(axis))
    if len(positions) != 1 or uses < LEAST_USES or not is_injective(form, used):
        return None
    return positions[0]


def _is_crowded(form: Affine | None, load: Load, total: Reduce) -> bool:
    """Whether the lines of all steps share few sets of the first cache."""
    if form is None or prod(axis.extent for axis in total.axes) < LEAST_STEPS:
        return False
    size = DTYPES[load.dtype].itemsize
    steps = [form.coefficient(axis) * size for axis in total.axes if axis.extent > 1]
    return all(step and step % (CROWDED_LINES * LINE_BYTES) == 0 for step in steps)


def _form(load: Load) -> Affine | None:
    return axis_affine(flat_place(load.tensor.shape, load.indices))


def _with_copy(load: Load, stage: Computed) -> Scalar:
    """The sum of a stage, which reads a copy of an operand whose lines share few sets."""
    total = stage.body
    assert isinstance(total, Reduce)
    form = _form(load)
    if not _is_crowded(form, load, total):
        return total
    copied = row_copy(load, (*stage.axes, *total.axes))
    assert isinstance(copied.tensor, Computed)
    return replace_nodes(total, {load: copy_of(copied.tensor)[copied.indices]})


COPIED_ROWS = Algorithm(
    "copied_rows",
    _offers,
    CopiedRows,
    rewritten=copied_rows_program,
    needs=has_small_tiles,
    saving=1.0,
)
"""Products of arguments with steps outermost, rows copied."""
