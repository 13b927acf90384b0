import pytest

from relay_tune.schedule.cost.tile import distinct_places, line_share
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis

I, K = Axis("i", 8), Axis("k", 3)  # noqa: E741


@pytest.mark.parametrize("step", [1, -1, 2, -2, 3])
def test_places_under_a_window_that_moves_either_way(step: int) -> None:
    offsets = {step * i + k for i in range(8) for k in range(3)}
    found = distinct_places(Affine({I: step, K: 1}, 20), {I: 8}, {K: 3}, None, 1)
    assert found == len(offsets)


@pytest.mark.parametrize(
    ("columns", "share"), [(8, 2.0), (16, 1.0), (24, 1.0)], ids=lambda each: str(each)
)
def test_whole_lines_of_a_panel_come(columns: int, share: float) -> None:
    # panel[j // 64, k, j % 64]: each step reads a part of a row of 256 bytes
    panels, column, step = Axis("panel", 8), Axis("j", 64), Axis("k", 100)
    form = Affine({panels: 6400, column: 1, step: 64}, 0)
    assert line_share(form, 4, {panels: 2, column: columns}, {step: 100}) == share


def test_rows_that_are_summed_come_whole() -> None:
    row, step = Axis("i", 8), Axis("k", 100)
    assert line_share(Affine({row: 100, step: 1}, 0), 4, {row: 2}, {step: 100}) == 1.0


def test_neighbours_under_a_window_share_lines() -> None:
    assert line_share(Affine({I: 1, K: 1}, 0), 4, {I: 2}, {K: 3}) == 1.0


def test_what_is_not_summed_is_counted_as_torn_instead() -> None:
    assert line_share(Affine({I: 1}, 0), 4, {I: 2}, {K: 3}) == 1.0
