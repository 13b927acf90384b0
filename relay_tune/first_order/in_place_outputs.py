"""Results that may lie where an input lies, if their kernel can be run so.

    function @main(p, g):  q = region(p, g) { run multiply_subtract(p, g) };  return q

The memory of p may be that of q: one kernel alone reads p, and the same one writes q. Whether it
has read an element whenever it writes one depends on its schedule (`relay_tune.tensor.in_place`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from relay_tune.first_order.instructions import Register, RunRegion
from relay_tune.first_order.program import FirstOrderFunction, FirstOrderProgram, InPlaceOutput
from relay_tune.first_order.region import Buffer, KernelRun, Region
from relay_tune.first_order.terminators import Return
from relay_tune.ir.expr import Function
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PossibleInPlace:
    """A result that may lie in the memory of an input as far as the program goes.

    Attributes:
        pair: the components of the result and of the inputs.
        function: the primitive that reads the one and writes the other.
        read: the number of its input.
        written: the number of its output.
    """

    pair: InPlaceOutput
    function: Function
    read: int
    written: int


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
        for register, result, function, read, written in _pairs(region):
            if register in free and result in results and register.kind == result.kind:
                pair = InPlaceOutput(results[result], numbers[register])
                yield PossibleInPlace(pair, function, read, written)


def _pairs(step: RunRegion) -> Iterator[tuple[Register, Register, Function, int, int]]:
    """Registers that a primitive alone reads and writes, the primitive, and their numbers in it."""
    region = step.region
    for register, read in zip(step.inputs, region.inputs, strict=True):
        for result, written in zip(step.outputs, region.outputs, strict=True):
            run = _only_run(region, read, written)
            if run is not None:
                numbers = run.inputs.index(read), run.outputs.index(written)
                yield register, result, run.function, *numbers


def _only_run(region: Region, read: Buffer, written: Buffer) -> KernelRun | None:
    """The run that alone reads one buffer, once, and alone writes another; None if none does."""
    readers = [run for run in region.runs for each in run.inputs if _lies_in(region, each, read)]
    writers = [
        run for run in region.runs for each in run.outputs if _lies_in(region, each, written)
    ]
    if len(readers) != 1 or writers != readers:
        return None
    (run,) = readers
    return run if read in run.inputs and written in run.outputs else None


def _lies_in(region: Region, buffer: Buffer, whole: Buffer) -> bool:
    return region.located(buffer).whole is whole
