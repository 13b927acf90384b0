"""Programs whose memory between kernels is limited.

A region's kernels are known by then, with the memory that each needs for itself under its schedule:
the plan that is looked at is the one that runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import PrimitiveCode
from relay_tune.building.recomputation.limited_region import (
    DescribeRun,
    steps_of,
    with_sequence,
)
from relay_tune.building.recomputation.steps import Steps
from relay_tune.building.recomputation.within_limit import least_limit, sequence_within
from relay_tune.building.region_layout import own_workspace
from relay_tune.errors import InputError
from relay_tune.first_order.instructions import Instruction, RunRegion
from relay_tune.first_order.program import FirstOrderFunction, FirstOrderProgram
from relay_tune.first_order.region import KernelRun, Region
from relay_tune.first_order.region_sizes import kernel_words
from relay_tune.ir.expr import Function
from relay_tune.machine.machine import Machine
from relay_tune.typing.type_text import type_text


def check_limitable(program: FirstOrderProgram) -> None:
    """InputError where sizes between kernels are seen to be known at run time only."""
    functions = list(program.functions.values())
    blocks = [block for function in functions for block in function.blocks]
    regions = [run.region for block in blocks for run in _region_runs(block.instructions)]
    if program.batches:
        raise InputError(
            "The memory of kernels that wait for those of other calls cannot be limited: how many "
            "run together is known at run time only.",
            remedy="Omit the limit.",
        )
    for region in regions:
        for buffer in region.between:
            if not isinstance(buffer.size, int):
                raise _not_known(type_text(buffer.type))


def _not_known(what: str) -> InputError:
    return InputError(
        f"The memory between kernels cannot be limited where a run tells how much it is, as of "
        f"{what}.",
        remedy="Omit the limit, or fix the sizes of the inputs.",
    )


def with_limited_memory(
    program: FirstOrderProgram,
    primitives: Mapping[Function, Primitive],
    codes: Mapping[str, PrimitiveCode],
    machine: Machine,
    limit: int,
) -> FirstOrderProgram:
    """A program whose kernels run so that the plan of each region has at most `limit` bytes.

    Raises InputError, with the least limit that was found, where no way is found.
    """

    def describe(run: KernelRun) -> tuple[tuple[int, ...], float] | None:
        primitive = primitives[run.function]
        workspace = own_workspace(run, primitive, codes)
        if workspace is None:
            return None
        return workspace, _cycles(codes[primitive.key.digest], machine)

    functions = {
        name: _limited(function, describe, limit) for name, function in program.functions.items()
    }
    return replace(program, functions=functions)


def _limited(function: FirstOrderFunction, describe: DescribeRun, limit: int) -> FirstOrderFunction:
    def limited(instruction: Instruction) -> Instruction:
        if not isinstance(instruction, RunRegion):
            return instruction
        return replace(instruction, region=_limited_region(instruction.region, describe, limit))

    blocks = (
        replace(block, instructions=tuple(map(limited, block.instructions)))
        for block in function.blocks
    )
    return replace(function, blocks=tuple(blocks))


def _limited_region(region: Region, describe: DescribeRun, limit: int) -> Region:
    steps = steps_of(region, describe)
    if steps is None:
        raise _not_known(kernel_words(region.runs[0].function))
    sequence = sequence_within(steps, limit)
    if sequence is None:
        raise _too_little(steps, limit)
    is_own = sequence == list(range(len(region.runs)))
    return region if is_own else with_sequence(region, sequence)


def _too_little(steps: Steps, limit: int) -> InputError:
    least = least_limit(steps)
    return InputError(
        f"The memory between the kernels cannot be limited to {limit:,} bytes; the least limit "
        f"that was found is {least:,}.",
        remedy=f"Give a limit of at least {least:,} bytes, or a smaller batch.",
    )


def _cycles(code: PrimitiveCode, machine: Machine) -> float:
    """About what a kernel takes: its operations, and its bytes from memory."""
    vectors = machine.vectors
    operations = 2 * vectors.fused_per_cycle * vectors.bytes / 4  # of float32 in a cycle
    work = code.work
    return machine.coefficients.kernel + work.own / operations + work.bytes / machine.main.rate


def _region_runs(instructions: tuple[Instruction, ...]) -> list[RunRegion]:
    return [each for each in instructions if isinstance(each, RunRegion)]
