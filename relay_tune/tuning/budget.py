"""What a tuning run may spend: candidates and time, whichever is used up first."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real

from relay_tune.errors import InputError

TRIALS_PER_TASK = 64
DEFAULT_MINUTES = 3.0

Clock = Callable[[], float]
"""Seconds since some moment; never runs backwards."""


@dataclass(slots=True)
class Budget:
    """Candidates and seconds, and how much of them is gone.

    Attributes:
        trials: candidates in all, those that the log already holds included.
        seconds: from the making of this object on.
        used: candidates so far.
        measured: candidates measured by this run.
        clock: tells seconds from any beginning.
        began: what it told when this object was made.
    """

    trials: int
    seconds: float
    used: int = 0
    measured: int = 0
    clock: Clock = time.monotonic
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def spend(self) -> None:
        """Count one measured candidate."""
        self.used += 1
        self.measured += 1

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self.clock() - self.began

    @property
    def remaining_trials(self) -> int:
        """Candidates that may still be measured."""
        return max(0, self.trials - self.used)

    @property
    def is_spent(self) -> bool:
        """Whether candidates or time are used up."""
        return self.remaining_trials == 0 or self.elapsed >= self.seconds

    @property
    def rate(self) -> float:
        """Candidates a second, 0 before the first."""
        return self.measured / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def eta_seconds(self) -> float:
        """When the run will end at the latest, in seconds from now."""
        by_time = max(0.0, self.seconds - self.elapsed)
        return min(by_time, self.remaining_trials / self.rate) if self.rate > 0 else by_time


def make_budget(
    trials: int | None, minutes: float | None, tasks: int, used: int, clock: Clock = time.monotonic
) -> Budget:
    """The budget that a user asks for; None takes the default. InputError for a senseless one."""
    if trials is not None and not (isinstance(trials, Integral) and trials >= 0):
        raise InputError(
            f"trials is {trials!r}, but must be a whole number of at least 0.",
            remedy=f"Leave it away for {TRIALS_PER_TASK} candidates a kernel.",
        )
    chosen = DEFAULT_MINUTES if minutes is None else minutes
    if not isinstance(chosen, Real) or not 0 <= chosen < math.inf:
        raise InputError(
            f"minutes is {minutes!r}, but must be a finite number of at least 0.",
            remedy=f"Leave it away for {DEFAULT_MINUTES:.0f} minutes.",
        )
    count = TRIALS_PER_TASK * tasks if trials is None else trials
    return Budget(count, chosen * 60.0, used, clock=clock)
