"""Timing several functions side by side.

The speed of a shared machine changes within seconds. All candidates take turns in short bursts, so
that each meets the same weather, and medians are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from statistics import median
from time import perf_counter, sleep
from typing import TypeVar

PAUSE_SECONDS = 0.05
"""Between bursts, so that the idle threads of the last candidate stop waiting actively (measured:
those of onnxruntime go on for 20 ms)."""


Name = TypeVar("Name", bound=Hashable)


def interleaved_medians(
    runs: Mapping[Name, Callable[[], object]],
    *,
    rounds: int = 15,
    burst_seconds: float = 0.05,
    now: Callable[[], float] = perf_counter,
) -> dict[Name, float]:
    """Seconds a call of each function: the median over `rounds` bursts, which take turns.

    `now` is the clock.
    """
    times: dict[Name, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            sleep(PAUSE_SECONDS)
            times[name].append(burst(run, burst_seconds, now))
    return {name: median(values) for name, values in times.items()}


def burst(
    run: Callable[[], object], seconds: float, now: Callable[[], float] = perf_counter
) -> float:
    """The median call, over as many calls as fill `seconds`, after one that is not counted."""
    run()
    times: list[float] = []
    total = 0.0
    while total < seconds:
        start = now()
        run()
        times.append(now() - start)
        total += times[-1]
    return median(times)
