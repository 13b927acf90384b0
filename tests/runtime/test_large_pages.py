"""Memory that begins on large pages."""

import sys

import numpy as np
import pytest

from relay_tune.runtime.large_pages import (
    LARGE_PAGE,
    SMALLEST,
    ask_for_large_pages,
    large_page_bytes,
    large_page_room,
)
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


@pytest.mark.parametrize("count", [1, 1000, SMALLEST - 1, SMALLEST, LARGE_PAGE, 2 * LARGE_PAGE + 1])
def test_bytes_are_zero_and_as_many_as_wanted(count: int) -> None:
    memory = large_page_bytes(count)
    assert memory.nbytes == count and not memory.any()
    is_large = sys.platform == "linux" and count >= SMALLEST
    assert memory.ctypes.data % (LARGE_PAGE if is_large else 64) == 0
    memory.fill(1)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take it lazily")
def test_bytes_that_there_is_no_memory_for() -> None:
    with pytest.raises(MemoryError):
        large_page_bytes(1 << 60)


def test_advice_leaves_what_is_there() -> None:
    memory = np.arange(3 * LARGE_PAGE // 8)
    ask_for_large_pages(memory.ctypes.data, memory.nbytes)
    ask_for_large_pages(memory.ctypes.data, 10)
    assert (memory == np.arange(memory.size)).all()
