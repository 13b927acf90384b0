"""The seven products of Strassen's algorithm."""

from __future__ import annotations

import numpy as np

from relay_tune.schedule.rewrites.strassen.combinations import (
    LEFT,
    RESULTS,
    RIGHT,
    factors,
    results,
)
from relay_tune.tensor.expression import literal
from relay_tune.tensor.scalar_value import scalar_value


def matrix(signed, places=4):
    """The coefficients of halves, a row for each product."""
    found = np.zeros((len(signed), places))
    for row, terms in enumerate(signed):
        for position, sign in terms:
            index = position if isinstance(position, int) else 2 * position[0] + position[1]
            found[row, index] += sign
    return found


def test_the_results_are_those_of_eight_products():
    """sum over p of the coefficients of a, b and c: 1 where c[i, j] takes a[i, k] b[k, j]."""
    tensor = np.einsum("pa,pb,cp->abc", matrix(LEFT), matrix(RIGHT), matrix(RESULTS, 7))
    expected = np.zeros((4, 4, 4))
    for i, j, k in np.ndindex(2, 2, 2):
        expected[2 * i + k, 2 * k + j, 2 * i + j] = 1
    assert np.array_equal(tensor, expected)


def test_expressions_have_the_signs_of_the_table():
    values = {(i, j): 3.0 + 5 * i + 7 * j * j + 11 * i * j for i in range(2) for j in range(2)}
    found = factors(LEFT, lambda i, j: literal(values[i, j], "float64"))
    assert [float(scalar_value(f, {}, {})) for f in found] == [
        sum(sign * values[position] for position, sign in terms) for terms in LEFT
    ]
    sums = results(lambda p: literal(2.0**p, "float64"))
    assert [float(scalar_value(c, {}, {})) for c in sums] == [57.0, 20.0, 10.0, 35.0]
