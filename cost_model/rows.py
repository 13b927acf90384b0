"""Rows that a cost model learns from, and how they are made comparable."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_model.errors import CostModelError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """One measured candidate.

    group: what was computed (a task); throughputs are compared within a group only.
    features: description of the candidate, the same length in all rows of a model.
    throughput: work per time, in any unit; None for a candidate that failed.
    """

    group: str
    features: Sequence[float]
    throughput: float | None

    def __post_init__(self) -> None:
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
