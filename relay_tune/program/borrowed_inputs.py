"""Inputs that are read where the caller has them.

    before: function @main(x):  y = run dense(x);  release x;  return y      x is a copy
    after:  function @main(x):  y = run dense(x);  return y                  x is the caller's

A tensor that a program gets from outside becomes an object of its heap: its elements are copied.
That is of no use where kernels alone read it, in the entry or in functions that it is passed to:

    function @main(x, n):     y = @loop(x, n);  return y
    function @loop(x, i, ..): s = run add(s, x);  ..  tail call @loop(x, i - 1, s)      x is lent
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from relay_tune.program.instructions import (
    AppendRows,
    CallFunction,
    CheckIndices,
    CheckRoom,
    CheckSize,
    Register,
    Release,
    Retain,
    RunKernel,
    RunRegion,
    ViewRows,
)
from relay_tune.program.kinds import TensorKind
from relay_tune.program.program import FirstOrderFunction, FirstOrderProgram
from relay_tune.program.terminators import TailCall

_READS = (AppendRows, RunKernel, RunRegion, CheckIndices, CheckRoom, CheckSize, Release, Retain)

Place = tuple[str, int]
"""The name of a function, and the number of one of its parameters."""


def with_borrowed_inputs(program: FirstOrderProgram) -> FirstOrderProgram:
    """The program whose entry leaves inputs where they are.

    Where kernels wait they have to find out whether an input waits, too: then all are objects.
    """
    if program.batches or program.outer_function is None:
        return program
    lent = _lent(program)
    functions = {name: _borrowing(each, lent) for name, each in program.functions.items()}
    return replace(program, functions=functions)


def _borrowing(function: FirstOrderFunction, borrowed: Collection[Place]) -> FirstOrderFunction:
    lent = {p for n, p in enumerate(function.parameters) if (function.name, n) in borrowed}
    if not lent:
        return function
    instructions = [each for block in function.blocks for each in block.instructions]
    no_objects = lent.union(each.result for each in instructions if isinstance(each, ViewRows))
    blocks = tuple(
        replace(
            block,
            instructions=tuple(
                instruction
                for instruction in block.instructions
                if not isinstance(instruction, Release | Retain)
                or instruction.object not in no_objects
            ),
        )
        for block in function.blocks
    )
    return replace(function, blocks=blocks, borrowed_inputs=frozenset(lent))


def _lent(program: FirstOrderProgram) -> set[Place]:
    """The parameters that need not be objects.

    Those of the entry that nothing but kernels reads, and of known sizes those of other functions
    that are given nothing else.
    """
    entry = program.entry.function
    found = {
        (name, number)
        for name, function in program.functions.items()
        if name not in program.closure_code.values()
        for number, parameter in enumerate(function.parameters)
        if isinstance(parameter.kind, TensorKind) and (name == entry or not parameter.kind.is_open)
    }
    while True:
        kept = set[Place]()
        for function in program.functions.values():
            numbers = {register: n for n, register in enumerate(function.parameters)}
            held = _held(function, found, is_entry=function.name == entry)
            kept |= {(function.name, numbers[each]) for each in held if each in numbers}
            for callee, arguments in _calls(function):
                for number, given in enumerate(arguments):
                    if (function.name, numbers.get(given, -1)) not in found:
                        kept.add((callee, number))
        if found.isdisjoint(kept):
            return found
        found -= kept


def _held(
    function: FirstOrderFunction, lent: Collection[Place], *, is_entry: bool
) -> Iterator[Register]:
    """Registers that have to be objects: all that something else than a kernel uses."""
    for block in function.blocks:
        for each in (*block.instructions, block.terminator):
            if isinstance(each, CallFunction | TailCall):
                numbered = enumerate(each.arguments)
                yield from (r for n, r in numbered if (each.function, n) not in lent)
            elif not isinstance(each, _READS) and not (is_entry and isinstance(each, ViewRows)):
                yield from each.operands


def _calls(function: FirstOrderFunction) -> Iterator[tuple[str, tuple[Register, ...]]]:
    """The functions that a function calls, and what it gives them."""
    for block in function.blocks:
        for each in (*block.instructions, block.terminator):
            if isinstance(each, CallFunction | TailCall):
                yield each.function, each.arguments
