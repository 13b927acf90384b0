"""How well estimates choose: ranks, and the time of what they choose."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.tuning.fit.least_squares import Measured
from relay_tune.tuning.fit.quality import Quality, quality

MEASURED = Measured.of([1.0, 2.0, 4.0, 3.0, 1.5], ["a", "a", "a", "b", "b"])


def test_the_chosen_is_compared_with_the_best() -> None:
    found = quality(MEASURED, np.array([2.0, 1.0, 3.0, 2.0, 1.0]))
    assert found.chosen == pytest.approx(2.0**0.5)
    assert found.correlation == pytest.approx((0.5 + 1.0) / 2)
    assert found.kernels == 2


def test_proportional_estimates_are_perfect_and_have_no_loss() -> None:
    costs = MEASURED.seconds + 7.0
    assert quality(MEASURED, costs) == Quality(pytest.approx(1.0), pytest.approx(1.0), 2)
    assert MEASURED.loss(costs) == pytest.approx(0.0)
    assert MEASURED.loss(costs + np.array([0.3, 0, 0, 0, 0])) > 0.0


def test_equal_estimates_rank_nothing() -> None:
    assert quality(MEASURED, np.zeros(5)).correlation == 0.0


def test_what_is_chosen_counts_before_ranks() -> None:
    best = Quality(0.5, 1.0, 9)
    assert best.is_better_than(Quality(0.9, 1.1, 9))
    assert Quality(0.9, 1.001, 9).is_better_than(best)
    assert not best.is_better_than(best)
