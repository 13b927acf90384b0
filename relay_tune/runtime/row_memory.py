"""Memory with room for more rows: where results lie that continue a donated input.

    present, = model.run({"past": past, ..}, donate=("past",))     past is copied, once
    present, = model.run({"past": present, ..}, donate=("past",))  only new rows are written

`present` is an array over a part of a RowMemory: its slices lie as far apart as there is room. A
row is given away once: the memory notes how many rows are in use, and an array that is not all of
them (an earlier one, or a part) is not appended to but copied. So arrays that were there before
keep their values, whatever is donated how often.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np

from relay_tune.runtime.aligned_memory import ALIGNMENT
from relay_tune.runtime.large_pages import LARGE_PAGE, ask_for_large_pages, large_page_room

FIRST_ROOM = 64
"""Rows for which there is room at least."""


_TAKING = threading.Lock()


class RowMemory(np.ndarray):
    """Bytes that the array of a result has as its base, and which of them are in use.

    Attributes:
        address: of the elements.
        used: how many rows are in use.
        start: how many bytes come before the elements.
        room: how many rows there is room for.
        steps: the strides of arrays over the elements.
        last: the array that was made last, while it lives.
    """

    address: int = 0
    start: int = 0
    used: int = -1
    room: int = 0
    steps: tuple[int, ...] = ()
    last: Callable[[], np.ndarray | None] = staticmethod(lambda: None)

    @staticmethod
    def new(shape: Sequence[int], axis: int, dtype: np.dtype, rows: int = 0) -> RowMemory:
        """Memory for an array of this shape and twice its rows, or so many."""
        room = max(2 * shape[axis], FIRST_ROOM) if rows < shape[axis] else rows
        whole = (*shape[:axis], room, *shape[axis + 1 :])
        size = prod(whole) * dtype.itemsize
        taken = large_page_room(size)
        boundary = ALIGNMENT if taken == size else LARGE_PAGE
        memory = RowMemory((max(taken, size + ALIGNMENT),), np.uint8)
        begin = int(memory.ctypes.data)
        ask_for_large_pages(begin, memory.nbytes)
        memory.start = -begin % boundary
        memory.address, memory.room = begin + memory.start, room
        later = accumulate(reversed(whole[1:]), mul, initial=dtype.itemsize)
        memory.steps = tuple(later)[::-1]
        return memory

    @staticmethod
    def taken(array: np.ndarray, axis: int) -> RowMemory | None:
        """The memory whose last row in use is the last of an array; None if there is no such.

        It is given once, to whoever asks first, until `used` says again how many rows are in use.
        """
        memory = array.base
        if not isinstance(memory, RowMemory) or array.strides != memory.steps:
            return None
        is_first = memory.last() is array  # which is told in less time than its address
        if not is_first and array.__array_interface__["data"][0] != memory.address:
            return None
        with _TAKING:
            if array.shape[axis] != memory.used:
                return None
            memory.used = -1
            return memory

    def array(self, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        """The array over the first rows."""
        made = np.ndarray(shape, dtype, self, self.start, self.steps)
        self.last = weakref.ref(made)
        return made


def take_all(memories: Sequence[RowMemory], rows: Sequence[int]) -> bool:
    """Take memories, each of which should have so many rows in use; none where one has not."""
    with _TAKING:
        if any(memory.used != used for memory, used in zip(memories, rows, strict=True)):
            return False
        for memory in memories:
            memory.used = -1
        return True
