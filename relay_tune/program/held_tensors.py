"""The tensors that functions hold while kernels run: what loops, branches and calls pass on.

    function @slices(i, x, sum):
      t = region(i, x, sum) { .. };  release sum;  tail call @slices(i + 1, x, t)

While the region runs, the function holds `sum` and `t`; one tensor where `t` reuses `sum`.
Inputs that the caller keeps are none of it, nor are results that lie in the caller's memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.program.instructions import (
    CallFunction,
    Instruction,
    LoadConstant,
    Register,
    Release,
    Reshape,
    Retain,
    RunRegion,
)
from relay_tune.program.kinds import TensorKind
from relay_tune.program.program import FirstOrderFunction, FirstOrderProgram
from relay_tune.program.terminators import TailCall

_References = Counter[Register]
"""How many references there are to each tensor that is held."""


def most_held(program: FirstOrderProgram) -> int:
    """The most bytes of tensors of known sizes that are held while a region runs.

    Of a function that calls itself, other than in the end, one call counts; of closures none.
    """
    walk = _Walk(program)
    walk.function(program.entry.function, 0)
    return walk.most


class _Walk:
    """Goes through functions as they are called.

    Attributes:
        most: the bytes so far.
    """

    def __init__(self, program: FirstOrderProgram) -> None:
        self.most = 0
        self._program = program
        self._below: dict[str, int] = {}
        self._open: set[str] = set()

    def function(self, name: str, below: int) -> None:
        """A function whose callers hold so many bytes."""
        if name in self._open or self._below.get(name, -1) >= below:
            return
        self._below[name] = below
        self._open.add(name)
        for instruction, held in _moments(self._program.functions[name]):
            if isinstance(instruction, RunRegion):
                self.most = max(self.most, below + held)
            else:
                self.function(instruction.function, below + held)
        self._open.remove(name)


def _moments(
    function: FirstOrderFunction,
) -> Iterator[tuple[RunRegion | CallFunction | TailCall, int]]:
    """Runs of regions and calls, with the bytes of the tensors that are held beside arguments."""
    apart = {*function.borrowed_inputs, *function.results_in_place}
    first = function.blocks[0].label
    alive_at = {first: Counter(p for p in function.parameters if _is_held(p, apart))}
    for block in function.blocks:
        alive = alive_at.pop(block.label, Counter())
        alive.update(p for p in block.parameters if _is_held(p, apart))
        for instruction in block.instructions:
            if isinstance(instruction, RunRegion):
                yield instruction, _bytes(alive) + _bytes_of_new(instruction, alive, apart)
            elif isinstance(instruction, CallFunction):
                yield instruction, _bytes(alive - Counter(instruction.arguments))
            alive = _after(instruction, alive, apart)
        end = block.terminator
        alive -= Counter(end.consumed)
        if isinstance(end, TailCall):
            yield end, 0
        for target in end.targets:
            alive_at[target] = alive_at.get(target, alive) | alive


def _after(instruction: Instruction, alive: _References, apart: set[Register]) -> _References:
    """What is held behind an instruction."""
    if isinstance(instruction, Release):
        return alive - Counter([instruction.object])
    if isinstance(instruction, Retain):
        return alive + Counter({instruction.object} & alive.keys())
    ended = Counter(instruction.consumed)
    new = Counter(each for each in instruction.results if _is_held(each, apart))
    return alive - ended + (Counter() if _is_no_memory(instruction, alive) else new)


def _is_no_memory(instruction: Instruction, alive: _References) -> bool:
    """Whether the result of an instruction takes no memory that counts: constants do not."""
    if isinstance(instruction, Reshape):
        return instruction.source not in alive
    return isinstance(instruction, LoadConstant)


def _bytes_of_new(run: RunRegion, alive: _References, apart: set[Register]) -> int:
    """The bytes of a region's results that are new objects."""
    reused = {n for n, old in run.reuses.items() if alive[run.inputs[old]] == 1}
    new = [each for number, each in enumerate(run.outputs) if number not in reused]
    return _bytes([each for each in new if _is_held(each, apart)])


def _is_held(register: Register, apart: set[Register]) -> bool:
    """Whether a register is a tensor of known size with memory of its own."""
    kind = register.kind
    return isinstance(kind, TensorKind) and not kind.is_open and register not in apart


def _bytes(registers: Collection[Register]) -> int:
    kinds = [each.kind for each in registers if isinstance(each.kind, TensorKind)]
    return sum(prod(kind.shape) * DTYPES[kind.type.dtype].itemsize for kind in kinds)
