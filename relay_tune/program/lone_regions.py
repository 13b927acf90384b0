"""Regions of one kernel.

before: y = run softmax(x);  z = run softmax(y)
after:  y = region(x) { softmax(x) };  z = region(y) { softmax(y) }       one region, run twice
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from relay_tune.ir.expr import Function
from relay_tune.program.instructions import (
    ComputeScalars,
    DeferKernel,
    Instruction,
    Register,
    RunKernel,
    RunRegion,
)
from relay_tune.program.kinds import function_kinds, function_type, kinds_of
from relay_tune.program.open_primitive import OpenPrimitive
from relay_tune.program.program import FirstOrderFunction
from relay_tune.program.region import Region
from relay_tune.program.region_builder import RegionBuilder
from relay_tune.program.region_sizes import RegionSizes


class LoneRegions:
    """The region of each primitive of a program that is run by itself."""

    def __init__(self) -> None:
        self._known: dict[Function, Region] = {}

    def instruction(self, run: RunKernel) -> RunRegion:
        """The run of a kernel as one of its region."""
        if run.primitive not in self._known:
            self._known[run.primitive] = lone_region(run.primitive)
        return RunRegion(self._known[run.primitive], run.inputs, run.outputs)

    def function(self, function: FirstOrderFunction) -> FirstOrderFunction:
        """A function with a region for each kernel."""
        blocks = tuple(
            replace(block, instructions=tuple(map(self._replaced, block.instructions)))
            for block in function.blocks
        )
        return replace(function, blocks=blocks)

    def _replaced(self, instruction: Instruction) -> Instruction:
        return self.instruction(instruction) if is_kernel(instruction) else instruction


def is_kernel(instruction: Instruction) -> TypeGuard[RunKernel]:
    """Whether an instruction runs a kernel now."""
    is_other = isinstance(instruction, ComputeScalars | DeferKernel)
    return isinstance(instruction, RunKernel) and not is_other


def lone_region(
    primitive: Function, named: OpenPrimitive | None = None, title: str | None = None
) -> Region:
    """The region of a primitive, which is `named` already, or has another title in messages."""
    type_ = function_type(primitive)
    inputs = tuple(map(Register, function_kinds(type_)))
    run = RunKernel(primitive, inputs, tuple(map(Register, kinds_of(type_.result))))
    sizes = RegionSizes()
    if named is not None and title is not None:
        sizes.add_run(run, named, title)
    else:
        sizes.add(run)
    builder = RegionBuilder(sizes)
    for register in inputs:
        builder.input(register)
    builder.run_kernel(run)
    return builder.region(run.outputs, (run,))
