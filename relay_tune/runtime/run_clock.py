"""The clock by which runs of so many threads are timed.

What runs on one thread is timed by the thread's own clock, which stands still while the system lets
another program have the processor. Where several threads work together nothing but the wall clock
tells when the last one is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

from relay_tune.quick_dataclass import dataclass

FINEST_NEEDED = 20e-6
"""Seconds: the steps of a clock that tells samples of half a millisecond from each other. Some
systems count a thread's time in ticks of milliseconds, whatever they say of its resolution."""

OBSERVED_SECONDS = 2e-3
"""For so long a clock is watched."""

_DEFAULT_MONOTONIC = 1

Seconds = Callable[[], float]


@dataclass(frozen=True, slots=True)
class RunClock:
    """A clock, for native code and for Python.

    Attributes:
        number: what the system's `clock_gettime` calls it.
        seconds: since some moment.
    """

    number: int
    seconds: Seconds


def run_clock(threads: int) -> RunClock:
    """The clock for runs on so many threads."""
    return _clock_of_this_thread() if threads == 1 else _wall_clock()


def _wall_clock() -> RunClock:
    number = int(getattr(time, "CLOCK_MONOTONIC", _DEFAULT_MONOTONIC))
    return RunClock(number, time.perf_counter)


@cache
def _clock_of_this_thread() -> RunClock:
    """That of the calling thread; the wall clock where there is none that is fine enough."""
    number = getattr(time, "CLOCK_THREAD_CPUTIME_ID", None)
    if number is None or not is_fine(time.thread_time):
        return _wall_clock()
    return RunClock(int(number), time.thread_time)


def is_fine(seconds: Seconds) -> bool:
    """Whether a clock goes on in small steps while the thread works."""
    end = time.perf_counter() + OBSERVED_SECONDS
    least, last = OBSERVED_SECONDS, seconds()
    while time.perf_counter() < end:
        now = seconds()
        if now > last:
            least = min(least, now - last)
        last = now
    return least <= FINEST_NEEDED
