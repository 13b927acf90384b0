"""Kernels as numbers: what each reads, writes and costs.

A value is memory that a region plans: a result that is neither an output nor an input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.memory_plan import Lifetime


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel.

    Attributes:
        after: the steps whose results it reads, by number.
        reads: the values that it reads, by number.
        writes: the values that it writes.
        workspace: the bytes of each tensor that it needs while it runs.
        cost: what it takes to run it once more, in cycles.
        is_repeatable: whether it may run once more; not so where it writes an output, or one part
            of a value.
        in_place: a value that it reads, and one as large that it may write to the same memory.
    """

    after: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    workspace: tuple[int, ...] = ()
    cost: float = 0.0
    is_repeatable: bool = True
    in_place: tuple[tuple[int, int], ...] = ()

    def replaced(self, is_read_again: Callable[[int], bool]) -> dict[int, int]:
        """What it writes to the memory of what it reads, and no one after it, by what it writes."""
        found: dict[int, int] = {}
        for read, written in self.in_place:
            is_free = written not in found and read not in found.values()
            if is_free and not is_read_again(read):
                found[written] = read
        return found


@dataclass(frozen=True)
class Steps:
    """The kernels of a region.

    Attributes:
        steps: in an order in which they may run.
        sizes: the bytes of each value.
    """

    steps: tuple[Step, ...]
    sizes: tuple[int, ...]

    @cached_property
    def writer(self) -> tuple[int | None, ...]:
        """For each value the step that may compute it again; None where it has to be kept."""
        found: list[int | None] = [None] * len(self.sizes)
        for number, step in enumerate(self.steps):
            if step.is_repeatable:
                for value in step.writes:
                    found[value] = number
        return tuple(found)

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each value the steps that read it."""
        found: list[list[int]] = [[] for _ in self.sizes]
        for number, step in enumerate(self.steps):
            for value in step.reads:
                found[value].append(number)
        return tuple(map(tuple, found))

    @property
    def most_at_once(self) -> int:
        """The most bytes that one step touches; nothing runs with less."""
        return max((self.touched(step) + sum(step.workspace) for step in self.steps), default=0)

    def touched(self, step: Step) -> int:
        """The bytes that a step reads and writes, beside its workspace, at least."""
        replaced = step.replaced(lambda _: False)
        return sum(self.sizes[value] for value in {*step.reads, *step.writes} - replaced.keys())

    def cost(self, sequence: Sequence[int]) -> float:
        """The cycles of steps one after the other."""
        return sum(self.steps[number].cost for number in sequence)

    def lifetimes(self, sequence: Sequence[int]) -> list[Lifetime]:
        """How long tensors live where steps run in some order, some of them several times.

        A step that runs again makes its values anew; the old ones end where they were last read.
        What replaces another one lives in its memory.
        """
        known: dict[int, int] = {}
        spans: list[list[int]] = []
        replaced = self.replaced(sequence)
        for time, number in enumerate(sequence):
            step = self.steps[number]
            for value in step.reads:
                spans[known[value]][2] = time
            for value in step.writes:
                if value in replaced[time]:
                    known[value] = known[replaced[time][value]]
                elif value not in known or step.is_repeatable:
                    known[value] = len(spans)
                    spans.append([self.sizes[value], time, time])
                spans[known[value]][2] = time
            spans += [[size, time, time] for size in step.workspace]
        return [Lifetime(*span) for span in spans]

    def replaced(self, sequence: Sequence[int]) -> list[dict[int, int]]:
        """For each time what its step writes to the memory of what is read there for the last time.

        The value that is written has that which was there.
        """
        found: list[dict[int, int]] = []
        later: set[int] = set()  # values whose present content is read later
        for number in reversed(sequence):
            step = self.steps[number]
            later.difference_update(step.writes if step.is_repeatable else ())
            found.append(step.replaced(later.__contains__))
            later.update(step.reads, () if step.is_repeatable else step.writes)
        return found[::-1]

    def most_alive(self, sequence: Sequence[int]) -> int:
        """The most bytes that are alive in one step; no plan takes less."""
        change = [0] * (len(sequence) + 1)
        for life in self.lifetimes(sequence):
            change[life.first] += life.size
            change[life.last + 1] -= life.size
        most = alive = 0
        for each in change:
            alive += each
            most = max(most, alive)
        return most
