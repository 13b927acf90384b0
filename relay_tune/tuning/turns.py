"""Timing several things so that changes of the machine's speed meet all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from relay_tune.tuning.median_interval import median_interval

__all__ = ["Turns", "median_interval", "time_in_turns"]

Turns = Mapping[str, list[list[float]]]
"""The seconds of each timed call, turn by turn, by the name of the variant."""

FEWEST_CALLS = 3
MOST_CALLS = 200
TURN_SECONDS = 0.1
"""A turn ends after about this time, but has at least FEWEST_CALLS and at most
MOST_CALLS calls."""

WARM_UP_CALLS = 2
PAUSE_SECONDS = 0.05
"""Between turns: the waiting threads of the runtime before must have gone to sleep."""


def time_in_turns(
    variants: Mapping[str, Callable[[], object]],
    turns: int,
    seconds: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Turns:
    """Time each variant in `turns` turns of several calls; the first calls are not counted.

    A turn takes about so many `seconds`, by default TURN_SECONDS. Calls are timed by a `clock`: for
    those that run on the calling thread alone it may be its own (`relay_tune.runtime.run_clock`).
    """
    length = TURN_SECONDS if seconds is None else seconds
    times: dict[str, list[list[float]]] = {name: [] for name in variants}
    for _ in range(turns):
        for name, call in variants.items():
            time.sleep(PAUSE_SECONDS)
            times[name].append(_turn(call, length, clock))
    return times


def _turn(call: Callable[[], object], seconds: float, clock: Callable[[], float]) -> list[float]:
    for _ in range(WARM_UP_CALLS):
        call()
    end = time.perf_counter() + seconds
    times = [_seconds(call, clock) for _ in range(FEWEST_CALLS)]
    while time.perf_counter() < end and len(times) < MOST_CALLS:
        times.append(_seconds(call, clock))
    return times


def _seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start
