"""Values of scalar expressions over grids of axes."""

import numpy as np
import pytest

from relay_tune.tensor.expression import Axis, literal
from relay_tune.tensor.scalar_value import values_over
from relay_tune.tensor.tensor import input_tensor

I, J = Axis("i", 2), Axis("j", 3)  # noqa: E741
X = input_tensor("x", (3, 2), "float32")
DATA = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_the_order_of_the_axes_is_that_of_the_result():
    np.testing.assert_array_equal(values_over(X[J, I], (J, I), {X: DATA}), DATA)
    np.testing.assert_array_equal(values_over(X[J, I], (I, J), {X: DATA}), DATA.T)


def test_what_depends_on_no_axis_is_repeated():
    found = values_over(X[literal(1, I.dtype), I], (I, J), {X: DATA})
    assert np.shares_memory(found, DATA)
    np.testing.assert_array_equal(found, np.repeat(DATA[1][:, None], 3, axis=1))


def test_without_axes_there_is_one_value():
    assert values_over(literal(2.5, "float32"), (), {}).shape == ()


def test_loads_outside_are_errors():
    with pytest.raises(IndexError, match="dimension 0"):
        values_over(X[J + 1, I], (J, I), {X: DATA})
