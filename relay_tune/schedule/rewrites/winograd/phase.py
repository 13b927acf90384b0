"""Phases of the results of a convolution along one dimension, of which each has its own taps.

    y[s * q + r] = sum(k < taps of r) x[q + start of r + k] * w[r, k]

A convolution as it is written has one, a transposed one with stride s has s.
"""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Phase:
    """The results r, s + r, 2 s + r, ..

    Attributes:
        taps: how many it has.
        start: the position that the first one of them reads for the first result.
    """

    taps: int
    start: int = 0


Phases = tuple[Phase, ...]
"""All of a dimension, by r."""

SINGLE: Phases = (Phase(1),)
"""A dimension without taps."""
