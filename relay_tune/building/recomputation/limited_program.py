"""Networks whose memory between kernels is limited.

A region's kernels are known by then, with the memory that each needs for itself under its schedule:
the plan that is looked at is the one that runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import PrimitiveCode
from relay_tune.building.recomputation.limited_region import (
    DescribeRun,
    steps_of,
    with_sequence,
)
from relay_tune.building.recomputation.steps import Steps
from relay_tune.building.recomputation.within_limit import least_limit, sequence_within
from relay_tune.errors import InputError
from relay_tune.first_order.instructions import Instruction, RunRegion
from relay_tune.first_order.program import FirstOrderFunction, FirstOrderProgram
from relay_tune.first_order.region import KernelRun, Region
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function
from relay_tune.machine.machine import Machine


def check_limitable(program: FirstOrderProgram) -> None:
    """InputError unless one region of known sizes is all that takes memory between kernels."""
    functions = list(program.functions.values())
    blocks = [block for function in functions for block in function.blocks]
    regions = [run.region for block in blocks for run in _region_runs(block.instructions)]
    is_network = len(blocks) == 1 and len(regions) <= 1 and not program.batches
    if is_network and not program.layouts and not any(region.is_dynamic for region in regions):
        return
    raise InputError(
        "A limit of memory is for networks of fixed sizes, but this program has branches, calls or "
        "values of data types, or sizes that a run tells.",
        remedy="Omit the limit, or fix the sizes of the inputs.",
    )


def with_limited_memory(
    program: FirstOrderProgram,
    primitives: Mapping[Function, Primitive],
    codes: Mapping[str, PrimitiveCode],
    machine: Machine,
    limit: int,
) -> FirstOrderProgram:
    """A network whose kernels run so that the plan of its memory has at most `limit` bytes.

    Raises InputError, with the least limit that was found, where no way is found.
    """

    def describe(run: KernelRun) -> tuple[tuple[int, ...], float]:
        code = codes[primitives[run.function].key.digest]
        sizes = (prod(t.shape) * DTYPES[t.dtype].itemsize for t in code.scheduled.workspace)
        return tuple(sizes), _cycles(code, machine)

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
    sequence = sequence_within(steps, limit)
    if sequence is None:
        raise _too_little(steps, limit)
    return with_sequence(region, sequence)


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
