"""How the best time falls while a log grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.cli.page.kernel import KernelReport
from relay_tune.quick_dataclass import dataclass

LONGEST_GAP = 60.0
"""Between two measurements of one run hardly pass so many seconds; a longer time is a pause."""

Clock = Mapping[float, float]
"""Minutes of measuring by Unix time."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The best time so far after each measurement.

    Attributes:
        minutes: of measuring, pauses left out.
        seconds: the best time at each of them.
    """

    minutes: tuple[float, ...]
    seconds: tuple[float, ...]


def clock(kernels: Sequence[KernelReport]) -> Clock:
    """Minutes since the first measurement of these kernels, without the pauses between runs."""
    times = sorted({sample.at for kernel in kernels for sample in kernel.samples})
    found: dict[float, float] = {}
    spent, last = 0.0, times[0] if times else 0.0
    for at in times:
        spent += min(LONGEST_GAP, at - last)
        found[at] = spent / 60.0
        last = at
    return found


def best_so_far(kernels: Sequence[KernelReport], minutes: Clock) -> Curve:
    """The sum over all runs of these kernels, from when each of them has a correct schedule.

    Empty where one of them never has.
    """
    events = sorted(
        (sample.at, number, sample.seconds)
        for number, kernel in enumerate(kernels)
        for sample in kernel.samples
        if sample.seconds is not None
    )
    best: dict[int, float] = {}
    points: list[tuple[float, float]] = []
    for at, number, time in events:
        best[number] = min(time, best.get(number, time))
        if len(best) == len(kernels):
            total = sum(kernels[each].runs * spent for each, spent in best.items())
            points.append((minutes[at], total))
    return Curve(tuple(x for x, _ in points), tuple(y for _, y in points))
