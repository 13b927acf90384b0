"""Timing calls."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

from relay_tune.arguments import whole_number
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Times of repeated calls, in seconds.

    Attributes:
        median: half of the calls took no longer.
        minimum: the shortest.
        maximum: the longest.
        repeat: how many were timed.
    """

    median: float
    minimum: float
    maximum: float
    repeat: int

    def __str__(self) -> str:
        median_, minimum, maximum = (
            f"{1e3 * seconds:.3f}" for seconds in (self.median, self.minimum, self.maximum)
        )
        return f"median {median_} ms, min {minimum} ms, max {maximum} ms ({self.repeat} calls)"


def measure(call: Callable[[], object], *, repeat: int, warmup: int) -> BenchmarkResult:
    """Time `repeat` calls after `warmup` untimed ones; InputError if `repeat` is not positive."""
    repeat, warmup = whole_number(repeat, "repeat", 1), whole_number(warmup, "warmup", 0)
    for _ in range(warmup):
        call()
    times = [_seconds(call) for _ in range(repeat)]
    return BenchmarkResult(median(times), min(times), max(times), repeat)


def _seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start
