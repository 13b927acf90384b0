"""Kernels as numbers: what each reads, writes and costs.

A value is memory that a region plans: a result that is neither an output nor an input.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """

    after: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    workspace: tuple[int, ...] = ()
    cost: float = 0.0
    is_repeatable: bool = True


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
        touched = (
            sum(self.sizes[value] for value in {*step.reads, *step.writes}) + sum(step.workspace)
            for step in self.steps
        )
        return max(touched, default=0)

    def cost(self, sequence: Sequence[int]) -> float:
        """The cycles of steps one after the other."""
        return sum(self.steps[number].cost for number in sequence)

    def lifetimes(self, sequence: Sequence[int]) -> list[Lifetime]:
        """How long tensors live where steps run in some order, some of them several times.

        A step that runs again makes its values anew; the old ones end where they were last read.
        """
        known: dict[int, int] = {}
        spans: list[list[int]] = []
        for time, number in enumerate(sequence):
            step = self.steps[number]
            for value in step.reads:
                spans[known[value]][2] = time
            for value in step.writes:
                if value not in known or step.is_repeatable:
                    known[value] = len(spans)
                    spans.append([self.sizes[value], time, time])
                spans[known[value]][2] = time
            spans += [[size, time, time] for size in step.workspace]
        return [Lifetime(*span) for span in spans]

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
