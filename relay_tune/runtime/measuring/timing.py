"""How long a kernel takes: few runs of slow ones, many of fast ones, the fastest sample counts.

On a shared machine disturbances only ever add time, so the minimum of a few samples repeats better
than their median (0.3 % against 0.5 % variation between repetitions, measured over 50 kernels). The
distance from there to the median is kept as the spread.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from relay_tune.quick_dataclass import dataclass

SAMPLE_SECONDS = 0.5e-3
"""At least so long: thousands of steps of the clock, and longer than threads take to wake up."""

FAST_SAMPLES = 5
SLOW_SAMPLES = 4
ENOUGH_SECONDS = 50e-3
"""After so long no more samples are taken, however much they differ."""

AGREEING = 1.05
"""Two samples within this ratio make the fastest one credible."""

HOPELESS = 3.0
"""A candidate so many times slower than the best is not timed more closely."""

CLEARLY_SLOWER = 1.25
"""And two samples are enough of one that is so many times slower."""

BEYOND_HOPE = 10.0
"""And with so many times, its first run, on cold caches, tells enough."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one run, and how far the median sample lies above."""

    seconds: float
    spread: float


def time_runs(run: Callable[[int], float], cold: float, best: float | None) -> Timing:
    """The timing of a kernel that has run once.

    Args:
        run: runs the kernel so many times and gives the seconds of all.
        cold: seconds of the first run.
        best: the best time known for the same work, in seconds.
    """
    if best is not None and cold > max(BEYOND_HOPE * best, SAMPLE_SECONDS):
        return _timing([cold])
    first = run(1)
    if best is not None and first > max(HOPELESS * best, SAMPLE_SECONDS):
        return _timing([first, run(1)])
    if first >= SAMPLE_SECONDS:
        return _timing(_samples(run, 1, first, SLOW_SAMPLES, best))
    count, total = _repetitions(run)
    return _timing(_samples(run, count, total, FAST_SAMPLES, best))


def _repetitions(run: Callable[[int], float]) -> tuple[int, float]:
    """How often a fast kernel must run for the clock to be fine enough; seconds of these runs.

    Found by doubling: on a busy machine, where threads wait long for each other, it stays small.
    """
    count = 1
    while (total := run(count)) < SAMPLE_SECONDS:
        count *= 2
    return count, total


def _samples(
    run: Callable[[int], float], count: int, total: float, least: int, best: float | None
) -> list[float]:
    """At least so many samples of `count` runs each, the first of which took `total` seconds.

    On a quiet machine that is all; on a busy one there are more, until two agree on the minimum.
    Two that agree on being far from the best time are enough.
    """
    spent, samples = total, [total / count]
    while len(samples) < least or (spent < ENOUGH_SECONDS and not _settled(samples)):
        total = run(count)
        spent += total
        samples.append(total / count)
        if best is not None and min(samples) > CLEARLY_SLOWER * best and _settled(samples):
            break
    return samples


def _settled(samples: list[float]) -> bool:
    return sum(sample <= AGREEING * min(samples) for sample in samples) >= 2


def _timing(samples: list[float]) -> Timing:
    fastest = min(samples)
    return Timing(fastest, median(samples) - fastest)
