"""How good a ranking is."""

import numpy as np
from numpy.typing import ArrayLike

from cost_model.errors import CostModelError
from cost_model.rows import FloatArray


def rank_correlation(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Spearman's rank correlation, -1 to 1, ties at their average rank; 0 where one is constant."""
    first, second = (_average_ranks(values) for values in _pair(predicted, measured))
    first, second = first - first.mean(), second - second.mean()
    scale = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / scale if scale else 0.0


def top_recall(
    predicted: ArrayLike,
    measured: ArrayLike,
    top_true: float = 0.05,
    top_predicted: float = 0.10,
) -> float:
    """Share of the best `top_true` of candidates that is among the `top_predicted` foremost.

    Both shares are rounded up to whole candidates; ties are broken by the order given.
    """
    scores, values = _pair(predicted, measured)
    best = _foremost(values, top_true)
    return len(best & _foremost(scores, top_predicted)) / len(best)


def _pair(predicted: ArrayLike, measured: ArrayLike) -> tuple[FloatArray, FloatArray]:
    scores = np.asarray(predicted, dtype=np.float64)
    values = np.asarray(measured, dtype=np.float64)
    if scores.ndim != 1 or scores.shape != values.shape or not scores.size:
        raise CostModelError(
            f"expected two vectors of one length, got shapes {scores.shape} and {values.shape}"
        )
    return scores, values


def _average_ranks(values: FloatArray) -> FloatArray:
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    ranks: FloatArray = (last - (sizes - 1) / 2)[group]
    return ranks


def _foremost(values: FloatArray, share: float) -> set[int]:
    count = max(1, int(np.ceil(share * len(values))))
    return set(np.argsort(-values, kind="stable")[:count].tolist())
