import numpy as np
import pytest

from cost_model import CostModelError, rank_correlation, top_recall


def test_rank_correlation_sees_the_order_only() -> None:
    values = np.array([3.0, 1.0, 2.0, 10.0])
    assert rank_correlation(np.exp(values), values) == pytest.approx(1.0)
    assert rank_correlation(-values, values) == pytest.approx(-1.0)


def test_ties_take_their_average_rank() -> None:
    # Ranks 1.5 1.5 3 against 1 2 3: covariance 1.5, variances 1.5 and 2.
    assert rank_correlation([5, 5, 9], [1, 2, 3]) == pytest.approx(1.5 / np.sqrt(1.5 * 2))


def test_a_constant_prediction_tells_nothing() -> None:
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0.0


def test_top_recall_counts_the_best_among_the_foremost() -> None:
    measured = np.arange(100.0)
    predicted = measured.copy()
    assert top_recall(predicted, measured) == 1.0
    predicted[[95, 96]] = -1.0
    assert top_recall(predicted, measured) == pytest.approx(3 / 5)
    assert top_recall(predicted, measured, top_true=0.01) == 1.0


@pytest.mark.parametrize(("predicted", "measured"), [([], []), ([1], [1, 2]), ([[1]], [[1]])])
def test_vectors_must_match(predicted: list[float], measured: list[float]) -> None:
    with pytest.raises(CostModelError, match="two vectors of one length"):
        rank_correlation(predicted, measured)
