"""An interval for a median, whatever the distribution is."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

MISSED = 0.1
"""How often an interval may miss the median."""


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """An interval that has the median of what was sampled with a probability of at least 0.9.

    From the k-th smallest to the k-th largest value, for the largest k that gives this probability
    whatever the distribution is (Thompson, 1936). None for fewer than five values.
    """
    count, ordered = len(values), sorted(values)
    outside, rank = 0.0, 0
    while 2 * (outside + comb(count, rank) / 2**count) <= MISSED:
        outside += comb(count, rank) / 2**count
        rank += 1
    return (ordered[rank - 1], ordered[-rank]) if rank else None
