"""A region whose kernels run in another order, some several times, so that its memory is limited.

before: a = f(x);  b = g(a);  ..;  d = k(a, c)          a is alive all the time
after:  a = f(x);  b = g(a);  ..;  a2 = f(x);  d = k(a2, c)

The same kernels compute the same numbers, so all results keep their bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from relay_tune.building.recomputation.steps import Step, Steps
from relay_tune.first_order.region import Buffer, KernelRun, Origin, Part, Region
from relay_tune.quick_dataclass import dataclass

DescribeRun = Callable[[KernelRun], tuple[tuple[int, ...], float] | None]
"""The bytes of each tensor of a run's own workspace, and the cycles that it takes; None where a run
of the program tells the bytes."""


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
    outputs = set(region.outputs)
    values: dict[Buffer, int] = {}
    writes: dict[Buffer, list[_Write]] = {}
    for number, run in enumerate(region.runs):
        for buffer in run.outputs:
            part = region.located(buffer)
            end = part.offset + _most_bytes(buffer)
            writes.setdefault(part.whole, []).append(_Write(number, part.offset, end))
            if part.whole not in outputs:
                values.setdefault(part.whole, len(values))
    steps: list[Step] = []
    for number, (run, about) in enumerate(zip(region.runs, described, strict=True)):
        if about is None:
            return None
        workspace, cost = about
        read = dict.fromkeys(region.located(buffer).whole for buffer in run.inputs)
        written = dict.fromkeys(region.located(buffer).whole for buffer in run.outputs)
        steps.append(
            Step(
                after=_writers(region, run, number, writes),
                reads=tuple(values[whole] for whole in read if whole in values),
                writes=tuple(values[whole] for whole in written if whole in values),
                workspace=workspace,
                cost=cost,
                is_repeatable=all(b in values and len(writes[b]) == 1 for b in written),
            )
        )
    return Steps(tuple(steps), tuple(whole.known_size for whole in values))


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


def with_sequence(region: Region, sequence: Sequence[int]) -> Region:
    """The region whose runs follow each other so; one that runs again fills new buffers."""
    copies = _Copies(region)
    runs = [copies.run(number) for number in sequence]
    return replace(region, runs=tuple(runs), parts={**region.parts, **copies.parts})


class _Copies:
    """The buffers that are filled anew by runs that run again.

    Attributes:
        parts: where views of these lie.
    """

    def __init__(self, region: Region) -> None:
        self.parts: dict[Buffer, Part] = {}
        self._region = region
        self._ran: set[int] = set()
        self._wholes: dict[Buffer, Buffer] = {}
        self._views: dict[tuple[Buffer, Buffer], Buffer] = {}

    def run(self, number: int) -> KernelRun:
        """The next run, on the latest copies of what it reads."""
        run = self._region.runs[number]
        inputs = tuple(map(self._latest, run.inputs))
        if number in self._ran:
            for buffer in run.outputs:
                whole = self._region.located(buffer).whole
                self._wholes[whole] = Buffer(whole.type, Origin.COMPUTED)
        self._ran.add(number)
        return replace(run, inputs=inputs, outputs=tuple(map(self._latest, run.outputs)))

    def _latest(self, buffer: Buffer) -> Buffer:
        """The buffer, or what stands for it in the latest copy of its memory."""
        part = self._region.located(buffer)
        copy = self._wholes.get(part.whole)
        if copy is None or buffer is part.whole:
            return copy or buffer
        if (copy, buffer) not in self._views:
            view = self._views[copy, buffer] = Buffer(buffer.type, Origin.COMPUTED)
            self.parts[view] = Part(copy, part.offset)
        return self._views[copy, buffer]
