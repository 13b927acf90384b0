"""A region whose kernels run in another order, some several times, so that its memory is limited.

before: a = f(x);  b = g(a);  ..;  d = k(a, c)          a is alive all the time
after:  a = f(x);  b = g(a);  ..;  a2 = f(x);  d = k(a2, c)

The same kernels compute the same numbers, so all results keep their bits.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from math import inf

from relay_tune.building.recomputation.steps import Step, Steps
from relay_tune.program.in_place_outputs import equal_pairs
from relay_tune.program.region import Buffer, KernelRun, Origin, Part, Region
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True)
class Described:
    """A run of a kernel.

    Attributes:
        workspace: the bytes of each tensor that it needs for itself.
        cost: the cycles that it takes.
        in_place: its inputs and outputs by number that may lie in the same memory.
    """

    workspace: tuple[int, ...]
    cost: float = 0.0
    in_place: Container[tuple[int, int]] = ()


DescribeRun = Callable[[KernelRun], Described | None]
"""None where a run of the program tells the bytes."""


@dataclass(frozen=True, slots=True)
class _Write:
    """A run that fills some bytes of a buffer."""

    run: int
    begin: int
    end: float


def steps_of(region: Region, describe: DescribeRun) -> Steps | None:
    """The kernels of a region as numbers; None where sizes between them are not known."""
    described = [describe(run) for run in region.runs]
    if not all(isinstance(buffer.size, int) for buffer in region.between):
        return None
    values = {whole: number for number, whole in enumerate(_values(region))}
    writes: dict[Buffer, list[_Write]] = {}
    for number, run in enumerate(region.runs):
        for buffer in run.outputs:
            part = region.located(buffer)
            end = part.offset + _most_bytes(buffer)
            writes.setdefault(part.whole, []).append(_Write(number, part.offset, end))
    steps: list[Step] = []
    for number, (run, about) in enumerate(zip(region.runs, described, strict=True)):
        if about is None:
            return None
        read = dict.fromkeys(region.located(buffer).whole for buffer in run.inputs)
        written = dict.fromkeys(region.located(buffer).whole for buffer in run.outputs)
        steps.append(
            Step(
                after=_writers(region, run, number, writes),
                reads=tuple(values[whole] for whole in read if whole in values),
                writes=tuple(values[whole] for whole in written if whole in values),
                workspace=about.workspace,
                cost=about.cost,
                is_repeatable=all(b in values and len(writes[b]) == 1 for b in written),
                in_place=tuple(
                    (values[old], values[new])
                    for read_, written_, old, new in equal_pairs(region, run, values, values)
                    if (read_, written_) in about.in_place and len(writes[new]) == 1
                ),
            )
        )
    return Steps(tuple(steps), tuple(whole.known_size for whole in values))


def _values(region: Region) -> list[Buffer]:
    """The memory that a region plans, in the order in which it is written."""
    outputs = set(region.outputs)
    written = (region.located(buffer).whole for run in region.runs for buffer in run.outputs)
    return [whole for whole in dict.fromkeys(written) if whole not in outputs]


def _writers(
    region: Region, run: KernelRun, number: int, writes: dict[Buffer, list[_Write]]
) -> tuple[int, ...]:
    """The earlier runs that fill what a run reads."""
    found: set[int] = set()
    for buffer in run.inputs:
        part = region.located(buffer)
        begin, end = part.offset, part.offset + _most_bytes(buffer)
        found |= {
            write.run
            for write in writes.get(part.whole, ())
            if write.run < number and _meets(write, begin, end)
        }
    return tuple(sorted(found))


def _meets(write: _Write, begin: int, end: float) -> bool:
    """Whether a write fills some of these bytes; what is empty waits for all of its whole."""
    return begin == end or (write.begin < end and begin < write.end)


def _most_bytes(buffer: Buffer) -> float:
    """The bytes of a buffer; of a result of dynamic size as many as there may be."""
    return buffer.size if isinstance(buffer.size, int) else inf


def with_sequence(
    region: Region, sequence: Sequence[int], replaced: Sequence[Mapping[int, int]] = ()
) -> Region:
    """The region whose runs follow each other so; one that runs again fills new buffers.

    `replaced` has for each of them which values it writes to the memory of which others.
    """
    copies = _Copies(region)
    for time, number in enumerate(sequence):
        copies.run(number, replaced[time] if replaced else {})
    return replace(region, runs=tuple(copies.runs), parts={**region.parts, **copies.parts})


class _Copies:
    """The buffers that are filled anew by runs that run again, and by those that replace others.

    Attributes:
        runs: the runs so far.
        parts: where views of these buffers lie, and what lies in the memory of others.
    """

    def __init__(self, region: Region) -> None:
        self.runs: list[KernelRun] = []
        self.parts: dict[Buffer, Part] = {}
        self._region = region
        self._values = _values(region)
        self._ran: set[int] = set()
        self._wholes: dict[Buffer, Buffer] = {}
        self._views: dict[tuple[Buffer, Buffer], Buffer] = {}

    def run(self, number: int, replaced: Mapping[int, int]) -> None:
        """The next run, on the latest copies of what it reads."""
        run = self._region.runs[number]
        inputs = tuple(map(self._latest, run.inputs))
        values = self._values
        old = {values[new]: self._memory(values[each]) for new, each in replaced.items()}
        for whole in (self._region.located(buffer).whole for buffer in run.outputs):
            if number in self._ran or whole in old:
                copy = self._wholes[whole] = Buffer(whole.type, Origin.COMPUTED)
                if whole in old:
                    self.parts[copy] = Part(old[whole], 0)
        self._ran.add(number)
        outputs = tuple(map(self._latest, run.outputs))
        self.runs.append(replace(run, inputs=inputs, outputs=outputs))

    def _memory(self, whole: Buffer) -> Buffer:
        """The buffer of its own memory that the latest copy of another one lies in."""
        copy = self._wholes.get(whole, whole)
        return self.parts[copy].whole if copy in self.parts else copy

    def _latest(self, buffer: Buffer) -> Buffer:
        """The buffer, or what stands for it in the latest copy of its memory."""
        part = self._region.located(buffer)
        copy = self._wholes.get(part.whole)
        if copy is None or buffer is part.whole:
            return copy or buffer
        if (copy, buffer) not in self._views:
            view = self._views[copy, buffer] = Buffer(buffer.type, Origin.COMPUTED)
            self.parts[view] = Part(self._memory(part.whole), part.offset)
        return self._views[copy, buffer]
