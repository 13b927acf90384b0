"""Results that are written where the caller wants them.

    before: function @main(x):  y = region(x) { .. };  return y      y is copied to the caller's
    after:  function @main(x):  y = region(x) { .. };  return y      y is the caller's

A tensor that a program gives away is copied from an object of its heap to the caller's memory. That
is of no use where it comes from a kernel of the entry, and kernels alone read it before it is
returned. Its size must be known: the caller has the memory before the program runs.
"""

from __future__ import annotations

from dataclasses import replace

from relay_tune.program.instructions import (
    CheckIndices,
    CheckRoom,
    CheckSize,
    Register,
    Release,
    RunKernel,
    RunRegion,
)
from relay_tune.program.kinds import Kind, TensorKind
from relay_tune.program.program import FirstOrderFunction, FirstOrderProgram
from relay_tune.program.terminators import Return, TailCall, TailCallClosure

_READS = (RunKernel, RunRegion, CheckIndices, CheckRoom, CheckSize)


def with_results_in_place(program: FirstOrderProgram) -> FirstOrderProgram:
    """The program whose entry writes results of known sizes into the caller's memory."""
    if program.batches:  # kernels that wait write into objects
        return program
    return program.with_outer_function(_with_results_in_place)


def _with_results_in_place(function: FirstOrderFunction) -> FirstOrderFunction:
    ends = [block.terminator for block in function.blocks]
    returned = [end.values for end in ends if isinstance(end, Return)]
    if not returned or any(isinstance(end, TailCall | TailCallClosure) for end in ends):
        return function
    free = _computed_for_the_caller(function)
    found: dict[Register, int] = {}
    for number, kind in enumerate(function.results):
        values = [each[number] for each in returned]
        if all(value in free and _is_of(value, kind) for value in values):
            found |= dict.fromkeys(values, number)
    return replace(function, results_in_place=found)


def _computed_for_the_caller(function: FirstOrderFunction) -> set[Register]:
    """Results that kernels compute and only kernels read before they are returned, once."""
    computed: set[Register] = set()
    kept: list[Register] = []
    for block in function.blocks:
        for instruction in block.instructions:
            if isinstance(instruction, RunRegion):
                computed.update(instruction.outputs)
            if isinstance(instruction, Release):  # on this way another value is returned
                kept.append(instruction.object)
            elif not isinstance(instruction, _READS):
                kept += instruction.operands
        end = block.terminator
        operands = [*end.consumed, *end.borrowed]
        kept += [r for r in operands if not isinstance(end, Return) or operands.count(r) > 1]
    return computed.difference(kept)


def _is_of(register: Register, kind: Kind) -> bool:
    """Whether a register is a tensor of the size that the caller expects."""
    return isinstance(kind, TensorKind) and not kind.is_open and register.kind == kind
