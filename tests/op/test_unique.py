"""unique: the values of a vector, in their order or in that of the vector."""

import numpy as np

from relay_tune.ir.operator import find_operator

DATA = np.array([3, 1, 3, 2], "int64")


def run(**attributes):
    operator = find_operator("unique")
    return operator.reference(operator.attributes(**attributes), DATA)


def test_ascending_values():
    values, first, inverse, number = run()
    assert [values.tolist(), first.tolist(), inverse.tolist(), number.tolist()] == [
        [1, 2, 3],
        [1, 3, 0],
        [2, 0, 2, 1],
        [3],
    ]


def test_values_in_the_order_of_the_vector():
    values, _, inverse, _, counts = run(is_sorted=False, return_counts=True)
    np.testing.assert_array_equal(values, [3, 1, 2])
    np.testing.assert_array_equal(values[inverse], DATA)
    np.testing.assert_array_equal(counts, [2, 1, 1])
