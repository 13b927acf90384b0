"""From a plan and a schedule to kernels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from relay_tune.remembered import remembered
from relay_tune.schedule.loops.row_block_loops import points as row_block_points
from relay_tune.schedule.loops.row_block_loops import row_block_loops
from relay_tune.schedule.loops.tile import TiledNest, tile_nest
from relay_tune.schedule.packing import PackedConstant
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.loops import Block, Buffer, BufferScope, Kernel, Statement
from relay_tune.tensor.tensor import Computed, ProcedureOutput
from relay_tune.tensor.touched import open_scratch, size_names, touched_tensors

REMEMBERED = 1024
"""Kernels that are kept, so that schedules which share a nest's choice share its code."""


def apply_schedule(plan: Plan, schedule: Schedule, prefix: str = "kernel") -> ScheduledProgram:
    """The kernels of a plan's program under a schedule; symbols are `prefix_0`, `prefix_1`, ...

    A schedule with another algorithm than the plan's is applied to the plan of that one.
    """
    plan = plan.with_algorithm(schedule.algorithm)
    choices = iter(schedule.choices)
    kernels: list[Kernel] = []
    packed: list[PackedConstant] = []
    done: set[object] = set()
    target: Tensor | None = None
    parts: list[tuple[Statement, int]] = []

    def flush() -> None:
        if parts:
            kernels.append(_kernel(f"{prefix}_{len(kernels)}", tuple(parts)))
            parts.clear()

    for step in plan.steps:
        if isinstance(step, RowBlocks):
            flush()
            group = row_block_loops(step, list(islice(choices, len(step.nests))), plan.constants)
            packed += group.packed
            parts.append((group.body, row_block_points(step)))
            flush()
            continue
        if isinstance(step, ProcedureOutput):
            flush()
            if step.procedure not in done:
                done.add(step.procedure)
                kernels.append(_procedure_kernel(f"{prefix}_{len(kernels)}", step, plan))
            continue
        tiled: TiledNest = tile_nest(step, next(choices), plan.constants)
        packed += tiled.packed
        if step.target is not target:
            flush()
            target = step.target
        parts.append((tiled.body, step.points))
    flush()
    workspace = _workspace(plan, kernels)
    return ScheduledProgram(plan.program, tuple(kernels), tuple(packed), workspace, plan.algorithm)


@remembered(REMEMBERED, is_code=True)
def _kernel(name: str, parts: tuple[tuple[Statement, int], ...]) -> Kernel:
    statements = tuple(statement for statement, _ in parts)
    body = statements[0] if len(statements) == 1 else Block(statements)
    parameters = touched_tensors(body)
    arguments = tuple(t.viewed if isinstance(t, FlatView) else t for t in parameters)
    points = sum(points for _, points in parts)
    return Kernel(name, parameters, arguments, body, points, size_names(body, arguments))


def _procedure_kernel(name: str, step: ProcedureOutput, plan: Plan) -> Kernel:
    procedure = step.procedure
    known = {
        tensor.index: tensor
        for tensor in tensors_in_order(plan.program.outputs)
        if isinstance(tensor, ProcedureOutput) and tensor.procedure is procedure
    }
    outputs = tuple(known.get(n, buffer) for n, buffer in enumerate(procedure.output_buffers))
    scratch = open_scratch(procedure.body)
    arguments = (*procedure.inputs, *outputs, *scratch)
    return Kernel(
        name,
        (*procedure.input_buffers, *procedure.output_buffers, *scratch),
        arguments,
        procedure.body,
        sizes=size_names(procedure.body, arguments),
    )


def _workspace(plan: Plan, kernels: Sequence[Kernel]) -> tuple[Tensor, ...]:
    """The kernels' arguments that are neither inputs, constants, outputs nor packed."""
    given = {*plan.program.inputs, *plan.constants, *plan.program.outputs}
    found: dict[Tensor, None] = {}
    procedures = {
        buffer
        for step in plan.steps
        if isinstance(step, ProcedureOutput)
        for buffer in step.procedure.output_buffers
    }
    for kernel in kernels:
        for tensor in kernel.arguments:
            stored = isinstance(tensor, Computed | ProcedureOutput) or tensor in procedures
            scratch = isinstance(tensor, Buffer) and tensor.scope is BufferScope.LOCAL
            if (stored or scratch) and tensor not in given:
                found[tensor] = None
    return tuple(found)
