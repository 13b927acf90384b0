"""The share of vectors that lie in two cache lines, against counting them."""

import pytest

from relay_tune.machine.machine import LINE_BYTES
from relay_tune.schedule.cost.load_count import split_share
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis

ROW, COLUMN, TAP = Axis("i", 64), Axis("j", 64), Axis("k", 16)


def counted(row: int, tap: int, offset: int, lanes: int) -> float:
    starts = [
        4 * (row * i + column + tap * k + offset) % LINE_BYTES
        for i in range(ROW.extent)
        for column in range(0, COLUMN.extent, lanes)
        for k in range(TAP.extent)
    ]
    return sum(start + 4 * lanes > LINE_BYTES for start in starts) / len(starts)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("row, tap, offset", [(18, 1, 0), (18, 18, 0), (16, 32, 0), (20, 4, 2)])
def test_vectors_in_two_lines_are_counted(row, tap, offset, lanes):
    form = Affine({ROW: row, COLUMN: 1, TAP: tap}, offset)
    assert split_share(form, 4, COLUMN, lanes) == counted(row, tap, offset, lanes)


def test_what_is_no_row_of_elements_is_not_split():
    assert split_share(Affine({ROW: 18, COLUMN: 2}), 4, COLUMN, 16) == 0
    assert split_share(Affine({ROW: 18}), 4, COLUMN, 16) == 0
