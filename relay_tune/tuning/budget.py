"""The budget of a tuning run: candidates and time, whichever is used up first."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from numbers import Integral, Real

from relay_tune.errors import InputError
from relay_tune.quick_dataclass import dataclass
from relay_tune.time_limit import TimeIsOver, time_limit

TRIALS_PER_TASK = 1024
"""More than a run of some minutes comes to: the time decides."""

DEFAULT_MINUTES = 3.0

TIMING_SHARE, TIMING_SECONDS = 2.5, 2.0
"""Building the whole network, tuned and untuned, takes about so many times as long as planning did,
and so much longer: both plan and compile, on a machine that is as busy."""

TIMING_RUNS = 160
"""So often the whole network runs then at most: traced, in turns, and in turns once more."""

CONFIRMED = 4
"""Confirming the winner of a task takes about as long as so many candidates."""

MOST_FINAL = 0.35
"""The share of the time that is kept for timing the network and for confirming at most."""

MOST_TIMING = 0.75
"""The part of that which is kept for the network at most."""

PLANNING = 0.35
"""The share of the time after which no more tasks are planned."""

LATE_SECONDS = 3.0
"""Grace after the time is up for work that looks at the clock; all else is interrupted then."""

Clock = Callable[[], float]
"""Seconds since some moment; never runs backwards."""


@dataclass(slots=True)
class Budget:
    """Candidates and seconds, and how much of them is gone.

    Attributes:
        trials: candidates in all, those that the log already holds included.
        seconds: from `began` on, for all of the run.
        used: candidates so far.
        measured: candidates measured by this run.
        clock: tells seconds from any beginning.
        began: what it told when the run began; by default when this object was made.
        timing: seconds that are kept for timing the whole network.
        confirmed: tasks whose winners are measured again before that.
        searched: what `elapsed` was when the search began.
    """

    trials: int
    seconds: float
    used: int = 0
    measured: int = 0
    clock: Clock = time.monotonic
    began: float = math.nan
    timing: float = 0.0
    confirmed: int = 0
    searched: float = 0.0

    def __post_init__(self) -> None:
        if math.isnan(self.began):
            self.began = self.clock()

    def keep_final(self, tasks: int, network_seconds: float = 0.0) -> None:
        """Keep time for the end of the run, as so many tasks are planned, since it began.

        Where timing the whole network takes `network_seconds` at least, and so much is not to be
        kept, nothing is kept for that: the search has the time.
        """
        self.searched = self.elapsed
        self.confirmed = tasks
        if network_seconds < self._most_timing:
            self._keep_timing(TIMING_SHARE * self.elapsed + TIMING_SECONDS)

    def keep_runs(self, seconds: float) -> None:
        """Keep time for the runs of the whole network, too, of so many seconds each."""
        if self.timing:
            self._keep_timing(self.timing + TIMING_RUNS * seconds)

    def _keep_timing(self, seconds: float) -> None:
        self.timing = min(seconds, self._most_timing)

    @property
    def _most_timing(self) -> float:
        return MOST_TIMING * MOST_FINAL * self.seconds

    @property
    def final(self) -> float:
        """Seconds that are kept for the end of the run, when nothing is searched any more."""
        candidate = (self.elapsed - self.searched) / max(1, self.measured)
        confirming = CONFIRMED * min(self.confirmed, self.measured) * candidate
        return min(self.timing + confirming, MOST_FINAL * self.seconds)

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
        """Whether candidates are used up, or time but for what is kept for the end."""
        return self.remaining_trials == 0 or self.searching_left <= 0

    @property
    def searching_left(self) -> float:
        """Seconds until the search has to end, 0 at least.

        Before anything is measured, there is no end to keep time for.
        """
        return max(0.0, self.left - (self.final if self.measured else 0.0))

    @property
    def may_plan(self) -> bool:
        """Whether there is time to plan another task."""
        return self.elapsed < PLANNING * self.seconds

    @property
    def confirming_left(self) -> float:
        """Seconds in which winners may be measured again, 0 at least."""
        return max(0.0, self.left - self.timing)

    @property
    def left(self) -> float:
        """Seconds until the end of the run."""
        return max(0.0, self.seconds - self.elapsed)

    def require_time(self) -> None:
        """Raise TimeIsOver where no time is left at all."""
        if self.left <= 0:
            raise TimeIsOver

    def limited(self) -> AbstractContextManager[None]:
        """A block that TimeIsOver ends soon after the time is over, whatever it is doing."""
        return time_limit(self.left + LATE_SECONDS)

    @property
    def rate(self) -> float:
        """Candidates a second, 0 before the first."""
        return self.measured / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def eta_seconds(self) -> float:
        """When the run will end at the latest, in seconds from now."""
        by_time = self.left
        return min(by_time, self.remaining_trials / self.rate) if self.rate > 0 else by_time


def make_budget(
    trials: int | None,
    minutes: float | None,
    tasks: int,
    clock: Clock = time.monotonic,
    began: float | None = None,
) -> Budget:
    """The budget that a user asks for; None takes the default. InputError for a senseless one.

    `began` is what the clock told at the beginning; None for now.
    """
    if trials is not None and not (isinstance(trials, Integral) and trials >= 0):
        raise InputError(
            f"trials is {trials!r}, but must be a whole number of at least 0.",
            remedy="Omit it for as many candidates as there is time for.",
        )
    chosen = DEFAULT_MINUTES if minutes is None else minutes
    if not isinstance(chosen, Real) or not 0 <= chosen < math.inf:
        raise InputError(
            f"minutes is {minutes!r}, but must be a finite number of at least 0.",
            remedy=f"Omit it for {DEFAULT_MINUTES:.0f} minutes.",
        )
    count = TRIALS_PER_TASK * tasks if trials is None else trials
    start = math.nan if began is None else began
    return Budget(count, chosen * 60.0, clock=clock, began=start)
