"""Which axes of an access count rows."""

import pytest

from relay_tune.schedule.row_groups.row_axes import RowAxis, row_axes
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Scalar

H, S, D, ALL = Axis("h", 12), Axis("s", 128), Axis("d", 64), Axis("i", 512)


def rows_of(index: Scalar, rows: int, size: int, *, others: tuple[Axis, ...] = ()):
    form = axis_affine(index)
    assert form is not None
    axes = [axis for axis in (H, S, D, ALL) if axis not in others]
    return row_axes(form, axes, others, rows, size)


def test_axes_that_reach_beyond_a_row_count_rows():
    index = H * (128 * 64) + S * 64 + D
    assert rows_of(index, 1536, 64) == (RowAxis(H, 12), RowAxis(S, 128))
    assert rows_of(index, 12, 128 * 64) == (RowAxis(H, 12),)


def test_an_axis_can_count_rows_with_its_outer_part():
    assert rows_of(ALL * 1, 8, 64) == (RowAxis(ALL, 8, 64),)


def test_all_of_a_tensor_can_be_one_row():
    assert rows_of(S * 64 + D, 1, 8192) == ()


def test_the_order_is_that_of_memory():
    assert rows_of(S * (12 * 64) + H * 64 + D, 1536, 64) == (RowAxis(S, 128), RowAxis(H, 12))


@pytest.mark.parametrize(
    ("index", "rows", "size"),
    [
        (S * 64 + D, 1536, 64),  # reads 128 of the 1536 rows
        (S * 64 + D + 1, 128, 64),  # reaches into the next row
        (D * 128 + S, 64, 64),  # a row is 64 elements, s covers two of them
        (ALL * 1, 8, 60),  # rows end within what an axis covers
        (S * -64 + D + 8128, 128, 64),  # backwards
    ],
)
def test_other_accesses_do_not_keep_to_rows(index, rows, size):
    assert rows_of(index, rows, size) is None


def test_a_reduction_cannot_count_rows():
    assert rows_of(S * 64 + D, 128, 64, others=(S,)) is None
    assert rows_of(S * 64 + D, 128, 64, others=(D,)) == (RowAxis(S, 128),)
