"""Memory with zones around it that show whether somebody wrote where they should not."""

from __future__ import annotations

from typing import Any

import numpy as np

ALIGNMENT = 64
ZONE_BYTES = 4096
ZONE_PATTERN = 0xA7
POISON = 0xFF
"""A byte of which floats are NaN and integers are -1."""


class GuardedBuffer:
    """`size` bytes, 64-byte aligned, between two zones of a known pattern."""

    def __init__(self, size: int) -> None:
        self._memory = np.full(size + 2 * ZONE_BYTES + ALIGNMENT, ZONE_PATTERN, np.uint8)
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
