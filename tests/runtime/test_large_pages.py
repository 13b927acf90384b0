"""Memory that begins on large pages."""

import sys

import numpy as np
import pytest

from relay_tune.runtime.large_pages import LARGE_PAGE, ask_for_large_pages, large_page_room
from relay_tune.runtime.row_memory import RowMemory


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such advice")
@pytest.mark.parametrize("size", [LARGE_PAGE, LARGE_PAGE + 1, 3 * LARGE_PAGE - 1])
def test_there_is_room_for_whole_pages_behind_a_boundary(size: int) -> None:
    room = large_page_room(size)
    assert room >= size + LARGE_PAGE - 1 and room % LARGE_PAGE == 0
    assert room < size + 2 * LARGE_PAGE


def test_small_memory_is_taken_as_it_is() -> None:
    assert large_page_room(LARGE_PAGE - 1) == LARGE_PAGE - 1


@pytest.mark.parametrize("rows", [5, 3000, 20000])
def test_rows_of_large_memory_begin_on_a_large_page(rows: int) -> None:
    shape = (2, rows, 64)
    memory = RowMemory.new(shape, 1, np.dtype("float32"), rows)
    is_large = large_page_room(4 * 2 * rows * 64) > 4 * 2 * rows * 64
    assert memory.address % (LARGE_PAGE if is_large else 64) == 0
    array = memory.array(shape, np.dtype("float32"))
    array[...] = 1
    assert array.sum() == array.size


def test_advice_leaves_what_is_there() -> None:
    memory = np.arange(3 * LARGE_PAGE // 8)
    ask_for_large_pages(memory.ctypes.data, memory.nbytes)
    ask_for_large_pages(memory.ctypes.data, 10)
    assert (memory == np.arange(memory.size)).all()
