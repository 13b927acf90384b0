"""Reference counts: where objects are retained and released.

before: f(x):  y = @g(x);  z = @h(x, y);  return z
after:  f(x):  retain x;  y = @g(x);  z = @h(x, y);  return z

Each counted register has one reference from its definition to its last use: a use that consumes it
takes the reference, after any other last use it is released. Because the blocks of a function form
no cycle, one sweep backward over them finds the last uses. After Reinking, Xie, de Moura, Leijen,
"Perceus: Garbage Free Reference Counting with Reuse" (PLDI 2021), section 2.2.

Instructions whose results are not used, and that do nothing else, disappear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from relay_tune.program.instructions import (
    ExtendTensor,
    Instruction,
    LoadConstant,
    MakeObject,
    ReadField,
    Register,
    Release,
    Reshape,
    Retain,
    RunKernel,
    RunRegion,
    Unpack,
    ViewRows,
)
from relay_tune.program.kinds import is_counted
from relay_tune.program.program import Block, FirstOrderFunction
from relay_tune.program.terminators import Jump, Terminator

_WITHOUT_EFFECT = (
    RunKernel,
    ExtendTensor,
    ViewRows,
    RunRegion,
    LoadConstant,
    Reshape,
    MakeObject,
    ReadField,
)


def with_reference_counts(function: FirstOrderFunction) -> FirstOrderFunction:
    """The function with retains, releases, and objects unpacked where they end."""
    return replace(function, blocks=_Sweep(function).blocks())


class _Sweep:
    """Goes over the blocks backward."""

    def __init__(self, function: FirstOrderFunction) -> None:
        self._function = function
        self._order = {register: number for number, register in enumerate(_defined(function))}
        self._live_in: dict[int, set[Register]] = {}
        self._bodies: dict[int, list[Instruction]] = {}

    def blocks(self) -> tuple[Block, ...]:
        """The blocks with counts."""
        for block in reversed(self._function.blocks):
            self._sweep(block)
        entry = self._function.blocks[0].label
        self._release_at_start(entry, self._function.parameters)
        return tuple(
            replace(block, instructions=tuple(_unpacked(self._bodies[block.label])))
            for block in self._function.blocks
        )

    def _sweep(self, block: Block) -> None:
        end = block.terminator
        live = self._live_after(end)
        reversed_body: list[Instruction] = []
        reversed_body += _retains(end.consumed, live)
        live.update(end.operands)
        for instruction in reversed(block.instructions):
            if isinstance(instruction, _WITHOUT_EFFECT) and live.isdisjoint(instruction.results):
                continue
            reversed_body += _releases(instruction, live)
            live.difference_update(instruction.results)
            reversed_body.append(instruction)
            reversed_body += _retains(instruction.consumed, live)
            live.update(instruction.consumed, instruction.borrowed)
        self._bodies[block.label] = reversed_body[::-1]
        self._live_in[block.label] = live
        self._release_at_start(block.label, block.parameters)
        live.difference_update(block.parameters)

    def _live_after(self, end: Terminator) -> set[Register]:
        """Registers live after a terminator; a successor releases what only its sibling needs."""
        live = set(end.borrowed).union(*(self._live_in[target] for target in end.targets))
        if not isinstance(end, Jump):
            held = sorted(live, key=self._order.__getitem__)  # a set's order differs between runs
            for target in end.targets:
                self._release_at_start(target, held)
        return live

    def _release_at_start(self, label: int, held: Iterable[Register]) -> None:
        """Release, at the start of a block, what it gets and does not use."""
        unused = [register for register in held if register not in self._live_in[label]]
        releases = [Release(register) for register in unused if is_counted(register.kind)]
        self._bodies[label][:0] = releases
        self._live_in[label].update(unused)


def _defined(function: FirstOrderFunction) -> Iterator[Register]:
    """The registers of a function, in the order in which they get values."""
    yield from function.parameters
    for block in function.blocks:
        yield from block.parameters
        for instruction in block.instructions:
            yield from instruction.results


def _retains(consumed: tuple[Register, ...], live: set[Register]) -> Iterator[Instruction]:
    """One for each reference that is consumed beyond the one that ends here."""
    for register, times in Counter(consumed).items():
        if is_counted(register.kind):
            for _ in range(times if register in live else times - 1):
                yield Retain(register)


def _releases(instruction: Instruction, live: set[Register]) -> Iterator[Instruction]:
    """After an instruction: its results that nobody needs, and operands that it used last."""
    ending = dict.fromkeys((*instruction.results, *instruction.borrowed))
    for register in ending:
        is_last = register not in live and register not in instruction.consumed
        if is_last and is_counted(register.kind):
            yield Release(register)


def _unpacked(body: list[Instruction]) -> Iterator[Instruction]:
    """Reads of an object's fields just before it is released become one instruction."""
    reads: list[ReadField] = []
    for instruction in body:
        if isinstance(instruction, ReadField):
            if reads and reads[-1].object is not instruction.object:
                yield from reads
                reads = []
            reads.append(instruction)
            continue
        if isinstance(instruction, Release) and reads and reads[0].object is instruction.object:
            fields = {read.index: read.result for read in reads}
            yield from _duplicates(reads, fields)
            yield Unpack(instruction.object, reads[0].layout, fields)
        else:
            yield from reads
            yield instruction
        reads = []
    yield from reads


def _duplicates(reads: list[ReadField], fields: dict[int, Register]) -> Iterator[ReadField]:
    """Reads of a field that is read again later."""
    return (read for read in reads if fields[read.index] is not read.result)
