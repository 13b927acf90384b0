"""Programs whose kernels run in an order that needs less memory.

It changes no bit, costs no kernel, and a result is read while it is still in the caches. Kernels
are scheduled by then, so that what each needs for itself counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay_tune.building.kept_kernels import PrimitiveCode
from relay_tune.building.primitive import Primitive
from relay_tune.building.recomputation.limited_region import (
    Described,
    DescribeRun,
    steps_of,
    with_sequence,
)
from relay_tune.building.recomputation.prompt_order import prompt_order
from relay_tune.building.recomputation.within_limit import planned_bytes
from relay_tune.building.region_layout import own_workspace
from relay_tune.ir.expr import Function
from relay_tune.program.instructions import Instruction, RunRegion
from relay_tune.program.program import FirstOrderFunction, FirstOrderProgram
from relay_tune.program.region import KernelRun, Region

LEAST_RUNS = 3
"""Two kernels of a region have one order, or one that takes the same memory."""


def with_short_lives(
    program: FirstOrderProgram,
    primitives: Mapping[Function, Primitive],
    codes: Mapping[str, PrimitiveCode],
) -> FirstOrderProgram:
    """A program whose regions have an order with the smaller plan, where their plan is known."""

    def describe(run: KernelRun) -> Described | None:
        workspace = own_workspace(run, primitives[run.function], codes)
        return None if workspace is None else Described(workspace)

    ordered: dict[Region, Region] = {}  # several instructions may run one region
    functions = {
        name: _ordered(function, describe, ordered) for name, function in program.functions.items()
    }
    return replace(program, functions=functions)


def _ordered(
    function: FirstOrderFunction, describe: DescribeRun, known: dict[Region, Region]
) -> FirstOrderFunction:
    def ordered(instruction: Instruction) -> Instruction:
        if not isinstance(instruction, RunRegion):
            return instruction
        region = instruction.region
        if region not in known:
            known[region] = _ordered_region(region, describe)
        return replace(instruction, region=known[region])

    blocks = (
        replace(block, instructions=tuple(map(ordered, block.instructions)))
        for block in function.blocks
    )
    return replace(function, blocks=tuple(blocks))


def _ordered_region(region: Region, describe: DescribeRun) -> Region:
    if len(region.runs) < LEAST_RUNS:
        return region
    steps = steps_of(region, describe)
    if steps is None:
        return region
    own, prompt = list(range(len(region.runs))), prompt_order(steps)
    if prompt == own or planned_bytes(steps, prompt) >= planned_bytes(steps, own):
        return region
    return with_sequence(region, prompt)
