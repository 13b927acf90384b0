import pytest

from relay_tune.schedule.cost.window_values import carried_values
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis

ROW, COLUMN, CHANNEL = Axis("i", 56), Axis("j", 56), Axis("c", 64)
KH, KW = Axis("kh", 3), Axis("kw", 3)


def window(stride: int) -> Affine:
    return Affine({ROW: 3712 * stride, COLUMN: 64 * stride, KH: 3712, KW: 64, CHANNEL: 1})


def brute_force(points: dict[Axis, int], stride: int, unrolled: dict[Axis, int]) -> int:
    """The most values that any step, tap row by tap row, has read and later steps read again."""
    steps = [
        {
            (i * stride + kh, j * stride + kw, c)
            for i in range(points[ROW])
            for j in range(points[COLUMN])
            for c in range(points[CHANNEL])
        }
        for kh in range(unrolled[KH])
        for kw in range(unrolled[KW])
    ]
    most = 0
    for done in range(1, len(steps)):
        most = max(most, len(set().union(*steps[:done]) & set().union(*steps[done:])))
    return most


def carried(stride: int, rows: int, columns: int, vectors: int, taps: tuple[int, int]) -> object:
    points = {ROW: rows, COLUMN: columns, CHANNEL: vectors}
    return carried_values([window(stride)], points, {KW: taps[1], KH: taps[0]})


def test_rows_and_columns_of_a_tile():
    assert carried(1, 2, 7, 1, (3, 3)) == ((9, 2), (12, 6))
    assert carried(2, 2, 7, 1, (3, 3)) == ((15, 2), (12, 6))


def test_steps_that_are_not_written_out_leave_nothing():
    assert carried(1, 2, 7, 1, (1, 1)) == ()
    assert carried(1, 2, 7, 2, (1, 3)) == ((24, 2),)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("tile", [(1, 14, 1), (4, 4, 1), (7, 2, 1), (2, 3, 2)])
def test_the_larger_number_is_near_what_steps_leave(tile, stride):
    points = dict(zip((ROW, COLUMN, CHANNEL), tile, strict=True))
    unrolled = {KW: 3, KH: 3}
    found = max(values for values, _ in carried_values([window(stride)], points, unrolled))
    exact = brute_force(points, stride, unrolled)
    assert found <= exact <= 2 * found
