"""Memory between pages that must not be touched: a stray access ends the process.

Content that ends at such a page shows reads and writes behind it, content that begins at one those
before it. Where the system has no such pages, zones of a known pattern stand for them: they show
writes only.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from enum import Enum
from typing import Any

import numpy as np

GUARD_BYTES = 64 << 10
"""Of the guarded pages on each side; a loop that runs too far meets them wherever it starts."""

ELEMENT_ALIGNMENT = 4
"""Kernels expect tensors on such boundaries, so up to three bytes behind odd sizes are readable."""

PATTERN = 0xA7
POISON = 0xFF
"""A byte of which floats are NaN and integers are -1."""

_NO_ACCESS = 0


class Side(Enum):
    """Which end of the content lies at a page that must not be touched."""

    BEGIN = "begin"
    END = "end"


class PagedBuffer:
    """`size` bytes; `use` says where they lie, and must be called first.

    `alignment` is that of the first byte where the end lies at a guarded page.
    """

    def __init__(self, size: int, alignment: int = ELEMENT_ALIGNMENT) -> None:
        usable = max(1, -(-size // mmap.PAGESIZE)) * mmap.PAGESIZE
        self._memory = np.frombuffer(mmap.mmap(-1, usable + 2 * GUARD_BYTES), np.uint8)
        self._usable = self._memory[GUARD_BYTES : GUARD_BYTES + usable]
        self._guards = _guarded(self._memory, usable)
        self._size, self._alignment = size, alignment
        self._start = 0

    def use(self, side: Side) -> None:
        """Put the content to an end of the memory; what it held is lost."""
        size = -(-self._size // self._alignment) * self._alignment
        self._start = 0 if side is Side.BEGIN else len(self._usable) - size
        self._usable.fill(PATTERN)
        for guard in self._guards:
            guard.fill(PATTERN)

    @property
    def content(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes themselves."""
        return self._usable[self._start : self._start + self._size]

    @property
    def address(self) -> int:
        """Of the first byte of the content."""
        return int(self._usable.ctypes.data) + self._start

    def poison(self) -> None:
        """Fill the content with what no kernel may leave there."""
        self.content.fill(POISON)

    @property
    def intact(self) -> bool:
        """Whether everything beside the content is as it was."""
        before = self._usable[: self._start]
        after = self._usable[self._start + self._size :]
        return all(bool((zone == PATTERN).all()) for zone in (before, after, *self._guards))


def _guarded(memory: np.ndarray[Any, Any], usable: int) -> list[np.ndarray[Any, Any]]:
    """Forbid the pages around the usable ones; or, where that cannot be, they as zones."""
    guards = [memory[:GUARD_BYTES], memory[GUARD_BYTES + usable :]]
    if sys.platform == "win32":
        return guards
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for guard in guards:
        if protect(guard.ctypes.data, GUARD_BYTES, _NO_ACCESS) != 0:
            raise MemoryError
    return []
