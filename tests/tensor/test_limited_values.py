from math import inf

import pytest

from relay_tune.tensor.expression import Axis, binary, literal
from relay_tune.tensor.limited_values import limits_of
from relay_tune.tensor.tensor import input_tensor

X = input_tensor("x", (4,), "float32")[Axis("i", 4)]


@pytest.mark.parametrize(
    "value, limits",
    [
        (X, (-inf, inf)),
        (binary("max", X, 3.0), (3, inf)),
        (binary("min", binary("max", X, 0.0), 255.0), (0, 255)),
        (binary("max", 1.0, binary("min", 7.0, X)), (1, 7)),
        (binary("min", binary("max", X, 9.0), 2.0), (2, 2)),
        (binary("min", binary("max", X, X), 5.0), (-inf, 5)),
        (binary("max", binary("min", binary("max", X, 0.0), 255.0) + 1.0, 0.0), (0, inf)),
    ],
)
def test_limits(value, limits):
    assert limits_of(value) == limits


def test_a_number_has_no_limits_of_its_own():
    assert limits_of(literal(3.0, "float32")) == (-inf, inf)
