"""Rows that a cost model learns from, and how they are made comparable."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_model.errors import CostModelError

FloatArray = NDArray[np.float64]

LEAST_SHARE = 0.02
"""Candidates below this share of the best are all as bad as each other, failed ones included."""

LEAST_WEIGHT = 0.05
"""What the row of a candidate counts that is no good, beside 1 for the best of its group."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured candidate.

    Attributes:
        group: what was computed (a task); throughputs are compared within a group only.
        features: description of the candidate, the same length in all rows of a model.
        throughput: work per time, in any unit; None for a candidate that failed.
        prior: the natural logarithm of an estimate of the throughput, in any unit; the model learns
            what the estimate gets wrong.
        weight: what the row counts beside others; below 1 for what is believed, not measured.
    """

    group: str
    features: Sequence[float]
    throughput: float | None
    prior: float = 0.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.prior):
            raise CostModelError(
                f"row of group {self.group!r} has prior {self.prior}: give a finite number"
            )
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise CostModelError(
                f"row of group {self.group!r} has weight {self.weight}: give a number above 0"
            )
        if self.throughput is None:
            return
        if not math.isfinite(self.throughput) or self.throughput < 0:
            raise CostModelError(
                f"row of group {self.group!r} has throughput {self.throughput}: "
                "give a finite number >= 0, or None for a failed candidate"
            )


def normalised_throughput(rows: Sequence[Row]) -> FloatArray:
    """Throughput as a share of the best of the row's group, shape (rows,); failed rows get 0.

    Shares let rows of tasks of any size teach one model.
    """
    best: dict[str, float] = {}
    for row in rows:
        best[row.group] = max(best.get(row.group, 0.0), row.throughput or 0.0)
    return np.array([(row.throughput or 0.0) / (best[row.group] or 1.0) for row in rows])


def targets(rows: Sequence[Row], known: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What is to be learned beyond what is known, and how much each row counts, shape (rows,).

    The first is the logarithm of the share of the best, less `known` (predictions of the same, on a
    scale of their own for each group), less the mean of that over the group. Rows count by the
    square of their share: it matters how the good ones differ; and by their own weight.
    """
    shares = normalised_throughput(rows)
    weights = (LEAST_WEIGHT + shares**2) * np.array([row.weight for row in rows])
    missing = np.log(np.maximum(shares, LEAST_SHARE)) - known
    groups, group = np.unique([row.group for row in rows], return_inverse=True)
    totals = np.bincount(group, weights, len(groups))
    means = np.bincount(group, weights * missing, len(groups)) / totals
    return missing - means[group], weights


def feature_matrix(features: Sequence[Sequence[float]] | FloatArray) -> FloatArray:
    """Features as a matrix of shape (candidates, features); `CostModelError` if they are not."""
    try:
        matrix = np.asarray(features, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise CostModelError(f"features do not form a matrix of numbers: {error}") from error
    if matrix.ndim != 2:
        raise CostModelError(f"features must form a matrix, got an array of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise CostModelError("features must be finite, found NaN or infinity")
    return matrix
