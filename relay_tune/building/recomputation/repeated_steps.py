"""Which results are dropped and computed again, so that what is alive fits in some room.

Steps run in their order. Where there is no room for the results of one, the value goes that costs
least to compute again, for each byte and for each step that its room is free: cost / (size x time).
It is computed again when a step reads it, with what is missing for that, which may go again. The
measure is that of Kirisame et al., "Dynamic Tensor Rematerialization" (2021). They know the past
alone and take the time since the last use; here the time until the next one is known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from math import inf

from relay_tune.building.recomputation.steps import Steps
from relay_tune.runtime.aligned_memory import rounded_up

MOST_RUNS = 4
"""How often steps run at most, on average: without memory, repetitions of repetitions never end."""


def repeated_steps(steps: Steps, order: Sequence[int], room: int) -> list[int] | None:
    """The steps as they run, some several times, with at most `room` bytes alive.

    None where no such sequence was found.
    """
    run = _Run(steps, order, room)
    if all(run.reach(time) for time in range(len(order))):
        return run.sequence
    return None


class _Run:
    """A run of the steps.

    Attributes:
        sequence: the steps that ran so far.
    """

    def __init__(self, steps: Steps, order: Sequence[int], room: int) -> None:
        self.sequence: list[int] = []
        self._steps = steps
        self._order = order
        self._room = room
        self._sizes = [rounded_up(size) for size in steps.sizes]
        self._time = 0
        self._ran: set[int] = set()
        self._there: set[int] = set()
        self._bytes = 0
        self._costs: dict[int, float] = {}
        self._next_uses: dict[int, int] = {}
        times = {number: time for time, number in enumerate(order)}
        self._uses = [sorted(times[reader] for reader in each) for each in steps.readers]
        self._children = [
            tuple(w for reader in readers for w in steps.steps[reader].writes)
            for readers in steps.readers
        ]
        self._parents = [
            () if writer is None else steps.steps[writer].reads for writer in steps.writer
        ]

    def reach(self, time: int) -> bool:
        """Run the step of a time and what it misses; whether there is room for that."""
        self._time = time
        waiting = [self._order[time]]
        while waiting:
            if len(self.sequence) > MOST_RUNS * len(self._order):
                return False
            step = self._steps.steps[waiting[-1]]
            missing = next((value for value in step.reads if value not in self._there), None)
            if missing is None:
                if not self._run(waiting.pop(), waiting):
                    return False
                continue
            writer = self._steps.writer[missing]
            if writer is None or writer in waiting:
                return False  # what it needs went again before it could run
            waiting.append(writer)
        return True

    def _run(self, number: int, waiting: Sequence[int]) -> bool:
        """Run a step whose values are there; `waiting` steps keep what they have of theirs."""
        step = self._steps.steps[number]
        replaced = self._replaced(number, waiting)
        for value in replaced:
            self._drop(value)
            self._forget(value)
        new = [value for value in step.writes if value not in self._there or step.is_repeatable]
        needed = sum(map(rounded_up, step.workspace)) + sum(self._sizes[value] for value in new)
        kept = {value for each in waiting for value in self._steps.steps[each].reads}
        kept.update(step.reads)
        if not self._make_room(needed, kept):
            return False
        self.sequence.append(number)
        self._ran.add(number)
        for value in (*step.writes, *step.reads):
            self._drop(value)
            self._forget(value)
        kept = {value for each in waiting for value in self._steps.steps[each].reads}
        still = [each for each in step.reads if each not in replaced]
        for value in dict.fromkeys((*step.writes, *still)):
            if value in kept or self._next_use(value) is not None:
                self._there.add(value)
                self._bytes += self._sizes[value]
                self._forget(value)
        return True

    def _replaced(self, number: int, waiting: Sequence[int]) -> Collection[int]:
        """What a step reads and overwrites, since nothing needs it behind the step."""
        step = self._steps.steps[number]
        if not step.in_place:
            return ()
        kept = {value for each in waiting for value in self._steps.steps[each].reads}
        before = self._there, self._ran
        self._there, self._ran = self._there.union(step.writes), {*self._ran, number}
        found = step.replaced(lambda value: value in kept or self._next_use(value) is not None)
        self._there, self._ran = before
        return found.values()

    def _drop(self, value: int) -> None:
        if value in self._there:
            self._there.remove(value)
            self._bytes -= self._sizes[value]

    def _make_room(self, needed: int, kept: Collection[int]) -> bool:
        """Drop values until there is room; whether there is."""
        missing = self._bytes + needed - self._room
        if missing <= 0:
            return True
        ranked = {value: self._rank(value) for value in self._there if value not in kept}
        while missing > 0 and ranked:
            value = min(ranked, key=lambda each: (ranked[each], each))
            if ranked[value] == inf:
                return False
            self._drop(value)
            missing -= self._sizes[value]
            del ranked[value]
            for other in self._forget(value) & ranked.keys():
                ranked[other] = self._rank(other)
        return missing <= 0

    def _forget(self, value: int) -> set[int]:
        """Forget costs and uses that depend on whether a value is there; those of which values.

        These are itself and what is there and is computed from it, or it from them, by what is not
        any more; what never was there has no part in that.
        """
        found: set[int] = {value}
        writers = self._steps.writer
        for follow in (self._parents, self._children):
            open_ = [value]
            seen = {value}
            while open_:
                for each in follow[open_.pop()]:
                    if each in seen:
                        continue
                    seen.add(each)
                    if each in self._there:
                        found.add(each)
                    elif writers[each] is None or writers[each] in self._ran:
                        open_.append(each)
        for each in found:
            self._costs.pop(each, None)
            self._next_uses.pop(each, None)
        return found

    def _rank(self, value: int) -> float:
        """What it costs to do without a value, for each byte and step."""
        following = self._next_uses.get(value)
        if following is None or following <= self._time:
            following = self._next_use(value)
            if following is None:
                return 0.0
            self._next_uses[value] = following
        if value not in self._costs:
            self._costs[value] = self._cost(value)
        return self._costs[value] / (self._sizes[value] * (following - self._time + 1))

    def _cost(self, value: int) -> float:
        """The cycles to compute a value again with all that is not there; inf where that cannot be.

        A value that has to be kept goes when nothing needs it; what it was needed for stays then.
        """
        needed: set[int] = set()
        open_ = [value]
        while open_:
            writer = self._steps.writer[open_.pop()]
            if writer is None:
                return inf
            if writer in needed:
                continue
            needed.add(writer)
            open_ += [v for v in self._steps.steps[writer].reads if v not in self._there]
        return self._steps.cost(list(needed))

    def _next_use(self, value: int) -> int | None:
        """When a value is read next, by a step or to compute again what one reads."""
        found: int | None = None
        seen = {value}
        open_ = [value]
        while open_:
            each = open_.pop()
            uses = self._uses[each]
            at = bisect_left(uses, self._time + (self._order[self._time] in self._ran))
            if at < len(uses) and (found is None or uses[at] < found):
                found = uses[at]
            for child in self._children[each]:
                is_missing = child not in self._there and child not in seen
                if is_missing and self._steps.writer[child] in self._ran:
                    seen.add(child)
                    open_.append(child)
        return found
