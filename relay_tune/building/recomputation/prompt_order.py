"""An order of kernels in which what takes no more memory runs as soon as it can.

    before: dy2, dy1, w1 - dw1, w2 - dw2        dy2 and the activations of layer 2 wait for the end
    after:  dy2, w2 - dw2, dy1, w1 - dw1

Steps keep their order, but one that frees at least as many bytes as it makes comes right behind the
last step that it waits for. Whether it does only ever changes from no to yes, so each step is
looked at when it could have: the time is linear in what the steps read and write.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from relay_tune.building.recomputation.steps import Steps


def prompt_order(steps: Steps) -> list[int]:
    """The steps in such an order."""
    run = _PromptRun(steps)
    for number in range(len(steps.steps)):
        run.reach(number)
    return run.order


class _PromptRun:
    """The steps so far.

    Attributes:
        order: what ran.
    """

    def __init__(self, steps: Steps) -> None:
        self.order: list[int] = []
        self._steps = steps
        count = len(steps.steps)
        self._missing = [len(step.after) for step in steps.steps]
        self._followers: list[list[int]] = [[] for _ in range(count)]
        self._writers: list[list[int]] = [[] for _ in steps.sizes]
        for number, step in enumerate(steps.steps):
            for before in step.after:
                self._followers[before].append(number)
            for value in step.writes:
                self._writers[value].append(number)
        self._uses = [len(readers) for readers in steps.readers]
        self._is_alive = [False] * len(steps.sizes)
        self._ran = [False] * count
        self._is_waiting = [False] * count
        self._prompt: list[int] = []  # a heap: what may run at once

    def reach(self, number: int) -> None:
        """Run a step unless it ran, and all that takes no more memory then."""
        if self._ran[number]:
            return
        self._run(number)
        while self._prompt:
            following = heappop(self._prompt)
            if not self._ran[following]:
                self._run(following)

    def _run(self, number: int) -> None:
        step = self._steps.steps[number]
        self._ran[number] = True
        self.order.append(number)
        for following in self._followers[number]:
            self._missing[following] -= 1
        self._look_at(self._followers[number])
        for value in step.writes:
            if not self._is_alive[value]:
                self._is_alive[value] = True
                self._look_at(self._writers[value])
        for value in step.reads:
            self._uses[value] -= 1
            if self._uses[value] == 1:
                self._look_at(self._steps.readers[value])

    def _look_at(self, numbers: Iterable[int]) -> None:
        """Let those run at once that are ready and take no more memory."""
        for number in numbers:
            is_new = not self._ran[number] and not self._is_waiting[number]
            if is_new and not self._missing[number] and self._added(number) <= 0:
                self._is_waiting[number] = True
                heappush(self._prompt, number)

    def _added(self, number: int) -> int:
        """The bytes that are alive after a step beside those before it."""
        step, sizes = self._steps.steps[number], self._steps.sizes
        made = sum(sizes[value] for value in step.writes if not self._is_alive[value])
        return made - sum(sizes[value] for value in step.reads if self._uses[value] == 1)
