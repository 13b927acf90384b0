"""Memory with zones around it that show whether somebody wrote where they should not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from relay_tune.runtime.aligned_memory import rounded_up
from relay_tune.runtime.large_pages import large_page_bytes

ALIGNMENT = 64
ZONE_BYTES = 4096
ZONE_PATTERN = 0xA7
SMALLEST_LARGE = 1 << 16
"""Buffers of so many bytes lie in large pages, as those of a network do, which share a region."""

POISON = 0xFF
"""A byte of which floats are NaN and integers are -1."""


class GuardedBuffer:
    """`size` bytes, 64-byte aligned, between two zones of a known pattern.

    They lie in `memory` of so many bytes as `needed` says, if that is given.
    """

    def __init__(self, size: int, memory: np.ndarray[Any, Any] | None = None) -> None:
        self._memory = large_page_bytes(needed(size), SMALLEST_LARGE) if memory is None else memory
        self._memory.fill(ZONE_PATTERN)
        self._start = ZONE_BYTES + -(self._memory.ctypes.data + ZONE_BYTES) % ALIGNMENT
        self._end = self._start + size

    @property
    def content(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes between the zones."""
        return self._memory[self._start : self._end]

    @property
    def address(self) -> int:
        """Where the content begins."""
        return int(self._memory.ctypes.data) + self._start

    def poison(self) -> None:
        """Fill the content with what no kernel may leave there."""
        self.content.fill(POISON)

    @property
    def intact(self) -> bool:
        """Whether both zones are as they were."""
        before, after = self._memory[: self._start], self._memory[self._end :]
        return bool((before == ZONE_PATTERN).all() and (after == ZONE_PATTERN).all())


def needed(size: int) -> int:
    """The memory that `size` guarded bytes take."""
    return rounded_up(size) + 2 * ZONE_BYTES + ALIGNMENT


def guarded_buffers(sizes: Sequence[int]) -> list[GuardedBuffer]:
    """Buffers side by side, as those of a network are."""
    ends = list(accumulate(map(needed, sizes), initial=0))
    memory = large_page_bytes(ends[-1], SMALLEST_LARGE)
    return [
        GuardedBuffer(size, memory[begin : begin + needed(size)])
        for size, begin in zip(sizes, ends, strict=False)
    ]
