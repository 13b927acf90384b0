import pytest

from relay_tune.schedule.cost.tile import distinct_places
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis

I, K = Axis("i", 8), Axis("k", 3)  # noqa: E741


@pytest.mark.parametrize("step", [1, -1, 2, -2, 3])
def test_places_under_a_window_that_moves_either_way(step: int) -> None:
    places = {step * i + k for i in range(8) for k in range(3)}
    found = distinct_places(Affine({I: step, K: 1}, 20), {I: 8}, {K: 3}, None, 1)
    assert found == len(places)
