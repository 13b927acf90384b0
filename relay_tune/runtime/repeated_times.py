"""Least times of samples that are repeated until they agree, on machines that others use too.

Other work only ever adds time, so that the least of several samples is the best known. One of them
proves little: where all were disturbed, it is some other time. Rounds of samples of everything that
is to be timed are taken in turns, and what repeats in another round is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from relay_tune.quick_dataclass import dataclass

AGREEING = 1.1
"""The least times of two rounds agree within this ratio."""

FEWEST_ROUNDS = 2
MOST_ROUNDS = 12

SAMPLES = 4
"""In a row, because some processors take a while to change their clock from loop to loop."""


@dataclass(slots=True)
class RepeatedTime:
    """The time of one thing.

    Attributes:
        rounds: the least seconds of each round.
    """

    rounds: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The least seconds of all rounds."""
        return min(self.rounds)

    @property
    def agrees(self) -> bool:
        """Whether another round came as far down as the least one."""
        near = sum(seconds <= AGREEING * self.seconds for seconds in self.rounds)
        return len(self.rounds) >= FEWEST_ROUNDS and near >= 2


def repeated_times(samples: Sequence[Callable[[], float]]) -> list[RepeatedTime]:
    """The times of several things, each of which is run once by a function that gives its seconds.

    Those whose rounds do not agree are run again, at most MOST_ROUNDS times.
    """
    times = [RepeatedTime() for _ in samples]
    for _ in range(MOST_ROUNDS):
        for sample, time in zip(samples, times, strict=True):
            if not time.agrees:
                time.rounds.append(min(sample() for _ in range(SAMPLES)))
    return times
