from __future__ import annotations

import numpy as np
import pytest

from relay_tune.cli.difference import Array, largest_difference

INF, NAN = float("inf"), float("nan")


def array(*values: float) -> Array:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    "found, expected, difference",
    [
        (array(1, 2), array(1, 2), 0.0),
        (array(1, 3), array(1, 4), 0.25),
        (array(NAN, INF, 2), array(NAN, INF, 4), 0.5),
        (array(NAN), array(1), INF),
        (array(INF), array(-INF), INF),
        (array(0.5), array(0), 0.5),
        (array(), array(), 0.0),
        (np.array([True, False]), np.array([True, True]), 1.0),
        (np.array([200], np.uint8), np.array([100], np.uint8), 1.0),
    ],
)
def test_differences(found: Array, expected: Array, difference: float) -> None:
    assert largest_difference([found], [expected]) == pytest.approx(difference)


def test_the_worst_output_counts_and_shapes_have_to_agree() -> None:
    one, other = array(1.0), array(1.5)
    assert largest_difference([one, other], [one, one]) == pytest.approx(0.5)
    assert largest_difference([array(1, 1)], [one]) == INF
    assert largest_difference([], []) == 0.0
