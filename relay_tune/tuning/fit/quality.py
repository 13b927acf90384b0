"""How well estimates choose among the schedules that were measured."""

from __future__ import annotations

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.fit.least_squares import Measured


@dataclass(frozen=True, slots=True)
class Quality:
    """How well estimates choose.

    Attributes:
        correlation: of the ranks of estimated and measured times within a kernel (Spearman's), on
            average; 1 is the best.
        chosen: the time of the schedule with the best estimate by the best time of its kernel,
            geometric mean; 1 is the best.
        kernels: how many there are.
    """

    correlation: float
    chosen: float
    kernels: int

    def is_better_than(self, other: Quality) -> bool:
        """Whether it chooses better; where both choose equally well, whether it ranks better."""
        if abs(self.chosen - other.chosen) > SAME:
            return self.chosen < other.chosen
        return self.correlation > other.correlation


SAME = 0.002
"""Differences of chosen times that count for nothing."""


def quality(measured: Measured, costs: np.ndarray) -> Quality:
    """How well these logarithms of estimates choose."""
    correlations, chosen = [], []
    for kernel in range(int(measured.kernels.max()) + 1):
        own = measured.kernels == kernel
        seconds, estimates = measured.seconds[own], costs[own]
        if len(seconds) > 1:
            correlations.append(_correlation(_ranks(seconds), _ranks(estimates)))
        chosen.append(seconds[int(np.argmin(estimates))] - seconds.min())
    return Quality(
        float(np.mean(correlations)) if correlations else 0.0,
        float(np.exp(np.mean(chosen))),
        len(chosen),
    )


def _ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value, the mean of ranks where values are equal."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    """The correlation of two rankings; none where one of them ranks nothing."""
    first, second = first - first.mean(), second - second.mean()
    size = float(np.sqrt(np.sum(first**2) * np.sum(second**2)))
    return float(np.sum(first * second)) / size if size else 0.0
