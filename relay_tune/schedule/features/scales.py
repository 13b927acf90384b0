"""How features measure sizes: as logarithms, alone or relative to the machine."""

from __future__ import annotations

from math import log2

from relay_tune.schedule.cost.analysis import NestAnalysis


def log_size(value: float) -> float:
    """The binary logarithm of one more than a size, which is 0 for nothing."""
    return log2(1.0 + max(value, 0.0))


def log_share(size: float, whole: float) -> float:
    """The binary logarithm of one size by another; that of nothing as of a single byte."""
    return log2(max(size, 1.0) / whole)


def operations_of(analysis: NestAnalysis) -> float:
    """What the body of a nest computes over all of its points; at least one a point."""
    return analysis.nest.points * max(analysis.body_operations, 1.0)
