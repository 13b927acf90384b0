"""Programs whose memory between kernels is limited.

A region's kernels are known by then, with the memory that each needs for itself under its schedule:
the plan that is looked at is the one that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from functools import cached_property

from relay_tune.building.kept_kernels import PrimitiveCode
from relay_tune.building.primitive import Primitive
from relay_tune.building.program_form import program_regions
from relay_tune.building.recomputation.limited_region import Described, steps_of, with_sequence
from relay_tune.building.recomputation.room_of_results import with_values_in_results
from relay_tune.building.recomputation.smaller_kernels import (
    SHARES,
    SmallerKernels,
    room_for_kernels,
)
from relay_tune.building.recomputation.steps import Steps
from relay_tune.building.recomputation.within_limit import least_limit, sequence_within
from relay_tune.building.region_layout import own_workspace
from relay_tune.building.work import rough_cycles
from relay_tune.errors import InputError, MemoryLimitError
from relay_tune.ir.expr import Function
from relay_tune.machine.machine import Machine
from relay_tune.program.instructions import Instruction, RunRegion
from relay_tune.program.program import FirstOrderFunction, FirstOrderProgram
from relay_tune.program.region import KernelRun, Region
from relay_tune.program.region_sizes import kernel_words
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_text import type_text


def check_limitable(program: FirstOrderProgram) -> None:
    """InputError where sizes between kernels are seen to be known at run time only."""
    if program.batches:
        raise InputError(
            "The memory of kernels that wait for those of other calls cannot be limited: how many "
            "run together is known at run time only.",
            remedy="Omit the limit.",
        )
    for region in program_regions(program):
        for buffer in region.between:
            if not isinstance(buffer.size, int):
                raise _not_known(type_text(buffer.type))


def _not_known(what: str) -> InputError:
    return InputError(
        f"The memory between kernels cannot be limited where a run tells how much it is, as of "
        f"{what}.",
        remedy="Omit the limit, or fix the sizes of the inputs.",
    )


@dataclass(frozen=True)
class _Sequence:
    """How the kernels of a region run.

    Attributes:
        region: as it was.
        roomy: the same with values in the memory of its results.
        steps: its kernels.
        sequence: in which they run; None where none was found.
    """

    region: Region
    roomy: Region
    steps: Steps
    sequence: list[int] | None


@dataclass(frozen=True)
class LimitedProgram:
    """A program whose kernels are to run so that the plan of each region is within a limit.

    Attributes:
        program: the program.
        primitives: of its kernels.
        codes: of the primitives, by digest.
        machine: that kernels take their time on.
        limit: the most bytes.
        held: those of them that functions hold while a region runs.
    """

    program: FirstOrderProgram
    primitives: Mapping[Function, Primitive]
    codes: Mapping[str, PrimitiveCode]
    machine: Machine
    limit: int
    held: int = 0

    @property
    def room(self) -> int:
        """The most bytes for what a region plans."""
        return max(self.limit - self.held, 0)

    def ordered(self) -> FirstOrderProgram:
        """The program with its kernels in such an order, some of them several times.

        Raises InputError, with the least limit that was found, where no way is found.
        """
        found: dict[Region, Region] = {}
        for each in self._sequences:
            if each.sequence is None:
                raise _too_little(each.steps, self.limit, self.held)
            replaced = each.steps.replaced(each.sequence)
            found[each.region] = with_sequence(each.roomy, each.sequence, replaced)
        functions = {n: _with(f, found) for n, f in self.program.functions.items()}
        return replace(self.program, functions=functions)

    @property
    def repeats(self) -> bool:
        """Whether some kernels run several times."""
        return any(len(each.sequence or ()) > len(each.steps.steps) for each in self._sequences)

    def room_for_kernels(self, share: float) -> dict[str, int]:
        """The room of kernels that have too little of it for themselves, by digest.

        Only of regions for which no order is found, and a `share` of what there is.
        """
        found: dict[str, int] = {}
        for each in self._sequences:
            if each.sequence is not None:
                continue
            runs, steps = each.region.runs, each.steps
            crowded = room_for_kernels(runs, self.primitives, steps, self.room, share)
            for digest, room in crowded:
                found[digest] = min(found.get(digest, room), room)
        return found

    @cached_property
    def _sequences(self) -> list[_Sequence]:
        found = []
        for region in dict.fromkeys(program_regions(self.program)):
            roomy = with_values_in_results(region, self._in_place)
            steps = steps_of(roomy, self._described)
            if steps is None:
                raise _not_known(kernel_words(region.runs[0].function))
            sequence = sequence_within(steps, self.room)
            found.append(_Sequence(region, roomy, steps, sequence))
        return found

    def _in_place(self, run: KernelRun) -> Container[tuple[int, int]]:
        return self.codes[self.primitives[run.function].key.digest].in_place

    def _described(self, run: KernelRun) -> Described | None:
        primitive = self.primitives[run.function]
        workspace = own_workspace(run, primitive, self.codes)
        if workspace is None:
            return None
        code = self.codes[primitive.key.digest]
        return Described(workspace, rough_cycles(code.work, self.machine), self._in_place(run))


def with_room(
    limited: LimitedProgram,
    smaller: SmallerKernels,
    scheduled: Callable[[Mapping[str, Primitive]], Mapping[str, PrimitiveCode]],
) -> LimitedProgram:
    """The program with other kernels where its own have too little room; `scheduled` gives them."""
    own = limited.primitives
    for share in SHARES:
        room = limited.room_for_kernels(share)
        others = smaller.of(own, limited.codes, room)
        if others:
            codes = scheduled({each.key.digest: each for each in others.values()})
            primitives = {**limited.primitives, **others}
            known = {**limited.codes, **codes}
            limited = replace(limited, primitives=primitives, codes=known)
    return limited


def _with(function: FirstOrderFunction, regions: Mapping[Region, Region]) -> FirstOrderFunction:
    def ordered(instruction: Instruction) -> Instruction:
        if not isinstance(instruction, RunRegion):
            return instruction
        return replace(instruction, region=regions[instruction.region])

    blocks = (
        replace(block, instructions=tuple(map(ordered, block.instructions)))
        for block in function.blocks
    )
    return replace(function, blocks=tuple(blocks))


def _too_little(steps: Steps, limit: int, held: int) -> MemoryLimitError:
    least = held + least_limit(steps)
    error = MemoryLimitError(
        f"The memory between the kernels cannot be limited to {limit:,} bytes; the least limit "
        f"that was found is {least:,}.",
        remedy=f"Give a limit of at least {least:,} bytes, or a smaller batch.",
    )
    error.limit, error.least = limit, least
    return error
