"""Results that may lie where an input lies, if their kernel can be run so.

    function @main(p, g):  q = region(p, g) { run multiply_subtract(p, g) };  return q

The memory of p may be that of q: one kernel alone reads p, and the same one writes q. Whether it
has read an element whenever it writes one depends on its schedule (`relay_tune.tensor.in_place`).

    function @loop(i, s):  t = region(i, s) { run add(s, ..) };  release s;  tail call @loop(i, t)

Inside of a program, an object that ends behind a region may be its result: t is s, if nothing else
refers to that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import product

from relay_tune.ir.expr import Function
from relay_tune.program.instructions import Instruction, Register, Release, RunRegion
from relay_tune.program.kinds import TensorKind
from relay_tune.program.program import FirstOrderFunction, FirstOrderProgram, InPlaceOutput
from relay_tune.program.region import Buffer, KernelRun, Region
from relay_tune.program.terminators import Return
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Sharing:
    """A primitive that reads what may lie in the memory of what it writes.

    Attributes:
        function: the primitive.
        read: the number of its input.
        written: the number of its output.
    """

    function: Function
    read: int
    written: int


@dataclass(frozen=True, eq=False, slots=True)
class PossibleInPlace:
    """A result that may lie in the memory of an input as far as the program goes.

    Attributes:
        pair: the components of the result and of the inputs.
        sharing: what has to allow that.
    """

    pair: InPlaceOutput
    sharing: Sharing


@dataclass(frozen=True, eq=False, slots=True)
class PossibleReuse:
    """An output of a region that may be the object of an input as far as the program goes.

    Attributes:
        step: runs the region.
        output: the number of the output.
        input: the number of the input.
        sharing: what has to allow that.
    """

    step: RunRegion
    output: int
    input: int
    sharing: Sharing


def possible_in_place(program: FirstOrderProgram) -> tuple[PossibleInPlace, ...]:
    """The results of a program that may lie in the memory of inputs, if the kernels allow it."""
    function = program.outer_function
    return () if function is None or len(function.blocks) != 1 else tuple(_found(function))


def _found(entry: FirstOrderFunction) -> Iterator[PossibleInPlace]:
    (block,) = entry.blocks
    if not isinstance(block.terminator, Return):
        return
    uses = Counter(r for each in block.instructions for r in each.operands)
    uses.update((*block.terminator.consumed, *block.terminator.borrowed))
    numbers = {register: number for number, register in enumerate(entry.parameters)}
    free = {register for register in entry.borrowed_inputs if uses[register] == 1}
    results = entry.results_in_place
    regions = (each for each in block.instructions if isinstance(each, RunRegion))
    for region in regions:
        uses_of_buffers = BufferUses.of(region.region)
        for read, written in _pairs(region):
            register, result = region.inputs[read], region.outputs[written]
            if register in free and result in results and register.kind == result.kind:
                pair = InPlaceOutput(results[result], numbers[register])
                found = _sharing(uses_of_buffers, region, read, written)
                yield from (PossibleInPlace(pair, each) for each in found)


def possible_sharing(program: FirstOrderProgram, is_limited: bool = False) -> Iterator[Sharing]:
    """All that kernels have to allow of both, and of tensors between them if those are limited."""
    yield from (each.sharing for each in possible_in_place(program))
    yield from (each.sharing for each in possible_reuses(program))
    if is_limited:
        yield from _sharing_between(program)


def _sharing_between(program: FirstOrderProgram) -> Iterator[Sharing]:
    """What kernels have to allow so that tensors between them lie in the memory of others."""
    for function in program.functions.values():
        for step in (each for block in function.blocks for each in block.instructions):
            if isinstance(step, RunRegion):
                region, olds = step.region, step.region.between
                news = {*olds, *region.outputs}
                for run in region.runs:
                    for read, written, *_ in equal_pairs(region, run, olds, news):
                        yield Sharing(run.function, read, written)


def equal_pairs(
    region: Region, run: KernelRun, olds: Container[Buffer], news: Container[Buffer]
) -> Iterator[tuple[int, int, Buffer, Buffer]]:
    """An input and an output of a run that are as large, by number, and their memory.

    Each is a whole, that of the input one of `olds`, which the run reads once, and that of the
    output one of `news`.
    """
    wholes = [region.located(buffer).whole for buffer in run.inputs]
    for (read, old), (written, new) in product(enumerate(wholes), enumerate(run.outputs)):
        own = region.located(new).whole
        sizes = {each.size for each in (run.inputs[read], old, new, own)}
        if len(sizes) == 1 and wholes.count(old) == 1 and old in olds and own in news:
            yield read, written, old, own


def possible_reuses(program: FirstOrderProgram) -> Iterator[PossibleReuse]:
    """The outputs of regions that may be objects which end there, if the kernels allow it."""
    for function in program.functions.values():
        for block in function.blocks:
            for place, step in enumerate(block.instructions):
                if isinstance(step, RunRegion):
                    ending = set(_released(block.instructions[place + 1 :]))
                    yield from _reuses(step, ending, function.results_in_place)


def _released(instructions: Sequence[Instruction]) -> Iterator[Register]:
    """What the first of some instructions release."""
    for each in instructions:
        if not isinstance(each, Release):
            return
        yield each.object


def _reuses(
    step: RunRegion, ending: Container[Register], elsewhere: Container[Register]
) -> Iterator[PossibleReuse]:
    uses = BufferUses.of(step.region)
    for read, written in _pairs(step):
        old, new = step.inputs[read], step.outputs[written]
        is_free = old in ending and step.inputs.count(old) == 1 and new not in elsewhere
        is_known = isinstance(old.kind, TensorKind) and not old.kind.is_open
        if is_free and is_known and old.kind == new.kind:
            found = _sharing(uses, step, read, written)
            yield from (PossibleReuse(step, written, read, each) for each in found)


def _pairs(step: RunRegion) -> Iterator[tuple[int, int]]:
    """All inputs with all outputs, by number."""
    return product(range(len(step.inputs)), range(len(step.outputs)))


def _sharing(uses: BufferUses, step: RunRegion, read: int, written: int) -> Iterator[Sharing]:
    """The primitive that alone reads an input and writes an output, if there is one."""
    old, new = step.region.inputs[read], step.region.outputs[written]
    run = uses.only_run(old, new)
    if run is not None:
        yield Sharing(run.function, run.inputs.index(old), run.outputs.index(new))


@dataclass(frozen=True, eq=False, slots=True)
class BufferUses:
    """The runs that read and write each buffer of its own memory, or parts of it: once a use.

    A step of training has a result for each of hundreds of inputs: all runs are looked at once, not
    for each pair.
    """

    readers: Mapping[Buffer, Sequence[KernelRun]]
    writers: Mapping[Buffer, Sequence[KernelRun]]

    @staticmethod
    def of(region: Region) -> BufferUses:
        """Those of a region."""
        readers: dict[Buffer, list[KernelRun]] = {}
        writers: dict[Buffer, list[KernelRun]] = {}
        for run in region.runs:
            for buffers, found in ((run.inputs, readers), (run.outputs, writers)):
                for buffer in buffers:
                    found.setdefault(region.located(buffer).whole, []).append(run)
        return BufferUses(readers, writers)

    def only_run(self, read: Buffer, written: Buffer) -> KernelRun | None:
        """The run that alone reads one buffer, once, and alone writes another; None without."""
        readers, writers = self.readers.get(read, ()), self.writers.get(written, ())
        if len(readers) != 1 or writers != readers:
            return None
        (run,) = readers
        return run if read in run.inputs and written in run.outputs else None
