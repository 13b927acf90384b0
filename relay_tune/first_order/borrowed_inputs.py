"""Inputs that are read where the caller has them.

    before: function @main(x):  y = run dense(x);  release x;  return y      x is a copy
    after:  function @main(x):  y = run dense(x);  return y                  x is the caller's

A tensor that a program gets from outside becomes an object of its heap: its elements are copied.
That is of no use where the entry alone gets it and kernels alone read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from relay_tune.first_order.instructions import (
    AppendRows,
    CheckIndices,
    CheckRoom,
    CheckSize,
    Register,
    Release,
    RunKernel,
    RunRegion,
    ViewRows,
)
from relay_tune.first_order.kinds import TensorKind
from relay_tune.first_order.program import Block, FirstOrderFunction, FirstOrderProgram

_READS = (AppendRows, ViewRows, RunKernel, RunRegion, CheckIndices, CheckRoom, CheckSize, Release)


def with_borrowed_inputs(program: FirstOrderProgram) -> FirstOrderProgram:
    """The program whose entry leaves inputs where they are.

    Where kernels wait they have to find out whether an input waits, too: then all are objects.
    """
    return program if program.batches else program.with_outer_function(_borrowing)


def _borrowing(function: FirstOrderFunction) -> FirstOrderFunction:
    kept = {register for block in function.blocks for register in _kept(block)}
    tensors = [p for p in function.parameters if isinstance(p.kind, TensorKind)]
    borrowed = frozenset(register for register in tensors if register not in kept)
    instructions = [each for block in function.blocks for each in block.instructions]
    no_objects = borrowed.union(each.result for each in instructions if isinstance(each, ViewRows))
    blocks = tuple(
        replace(
            block,
            instructions=tuple(
                instruction
                for instruction in block.instructions
                if not isinstance(instruction, Release) or instruction.object not in no_objects
            ),
        )
        for block in function.blocks
    )
    return replace(function, blocks=blocks, borrowed_inputs=borrowed)


def _kept(block: Block) -> Iterator[Register]:
    """Registers that have to be objects: all that something else than a kernel uses."""
    for instruction in block.instructions:
        if not isinstance(instruction, _READS):
            yield from (*instruction.consumed, *instruction.borrowed)
    yield from (*block.terminator.consumed, *block.terminator.borrowed)
