"""The nests of a program under an algorithm, in the order in which they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.schedule.intrinsics.register_axes import for_registers, with_whole_columns
from relay_tune.schedule.nests.build_nests import build_nests
from relay_tune.schedule.nests.inline import inline_stages
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.panels import with_panels
from relay_tune.schedule.nests.repeated_axes import fuse_repeated
from relay_tune.schedule.nests.row_copies import with_row_copies
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Input, ProcedureOutput, compute

PlannedStep = Nest | RowBlocks | ProcedureOutput
"""A nest, a group of nests, or a procedure."""


def planned_steps(
    source: TensorProgram, algorithm: AppliedAlgorithm
) -> tuple[TensorProgram, tuple[PlannedStep, ...]]:
    """The program that an algorithm makes of one with folded constants, and its steps.

    Each output is a tensor of its own. Raises InputError if the algorithm does not apply.
    """
    program = algorithm.prepared(source)
    program = replace(program, outputs=_own_outputs(program.outputs))
    constants = frozenset(tensor for tensor, _ in program.constants)
    inlined = with_row_copies(inline_stages(program.outputs, constants), constants)
    stages = with_panels(inlined, constants, program.outputs)
    nests = [
        for_registers(algorithm.nest(fuse_repeated(step))) if isinstance(step, Nest) else step
        for step in build_nests(stages, program.outputs, longer=algorithm.is_ragged)
    ]
    return program, tuple(map(_for_registers, algorithm.grouped(nests, program.outputs)))


def _for_registers(step: PlannedStep) -> PlannedStep:
    """The step with axes that registers can have: blocks of rows have other ones.

    Open columns are cut into registers last, as they lie within a row.
    """
    if isinstance(step, Nest):
        return for_registers(with_whole_columns(step))
    if not isinstance(step, RowBlocks):
        return step
    parts = (map(with_whole_columns, each) for each in (step.nests, step.last))
    nests, last = (tuple(map(for_registers, each)) for each in parts)
    return replace(step, nests=nests, last=last)


def _own_outputs(outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Outputs that are inputs, or the same tensor twice, as copies."""
    own: list[Tensor] = []
    for tensor in outputs:
        if isinstance(tensor, Input) or tensor in own:
            own.append(compute("copy", tensor.shape, lambda *at, source=tensor: source[at]))
        else:
            own.append(tensor)
    return tuple(own)
