"""Kernels of a loop of which each run needs the result of the run before.

loop(t, h):  ...  p = run dense(h);  n = run tanh(p);  tail call loop(u, n)

The calls of `dense` can never run together: its input is computed from a parameter that every
turn computes from the result of `dense` in the turn before. A product of the parameter `t` alone
is no such kernel, also where its result is added to `h`: it is split from that
(`relay_tune.program.split_epilogue`).
"""

from __future__ import annotations

from collections.abc import Iterable

from relay_tune.program.instructions import Instruction, Register, Reshape, RunKernel
from relay_tune.program.program import FirstOrderFunction
from relay_tune.program.split_epilogue import waiting_part
from relay_tune.program.terminators import Jump, TailCall


def is_chained(run: RunKernel, loop: FirstOrderFunction) -> bool:
    """Whether a kernel of a function reads what is computed from its results of the turn before.

    A turn is a tail call of the function by itself; it must call itself in no other way.
    """
    results = _computed_from(run.outputs, loop)
    turns = [
        block.terminator.arguments
        for block in loop.blocks
        if isinstance(block.terminator, TailCall) and block.terminator.function == loop.name
    ]
    carried = [
        parameter
        for position, parameter in enumerate(loop.parameters)
        if turns and all(arguments[position] in results for arguments in turns)
    ]
    _, positions = waiting_part(run.primitive)
    return not _computed_from(carried, loop).isdisjoint(run.inputs[n] for n in positions)


def _computed_from(sources: Iterable[Register], loop: FirstOrderFunction) -> set[Register]:
    """What kernels compute from some of the sources, on whichever way it was come by."""
    found = set(sources)
    known = -1
    while known != len(found):
        known = len(found)
        for block in loop.blocks:
            for instruction in block.instructions:
                if _computes(instruction) and not found.isdisjoint(instruction.operands):
                    found.update(instruction.results)
            found.update(_on_all_ways(block.label, block.parameters, loop, found))
    return found


def _computes(instruction: Instruction) -> bool:
    return isinstance(instruction, RunKernel | Reshape)


def _on_all_ways(
    label: int, parameters: tuple[Register, ...], loop: FirstOrderFunction, found: set[Register]
) -> list[Register]:
    """The parameters of a block that get what is found from every block that goes there."""
    ways = [
        block.terminator.arguments
        for block in loop.blocks
        if isinstance(block.terminator, Jump) and block.terminator.target == label
    ]
    return [
        parameter
        for position, parameter in enumerate(parameters)
        if ways and all(arguments[position] in found for arguments in ways)
    ]
