"""Memory of large results that nobody can see any longer, which the next result takes.

    y = model(x)       y lies in A
    y = model(x)       the new one in B: A is seen while the program runs, and kept afterwards
    y = model(x)       in A again

The C library gives the memory of large arrays back to the system at once (glibc: from 32 MB on), so
that each call would wait for new pages: clearing them takes longer than computing what is little
more than a copy.

What is handed out is owned by a lease, which all arrays over it have as their last base, views and
tensors of other libraries, too. Its memory is kept when the lease is gone, and no sooner. A result
keeps one block at most, which ends with the program; the system may take its pages while it waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay_tune.runtime.large_pages import large_page_bytes, offer_pages

LARGE_RESULT = 32 << 20
"""Bytes from which on; less memory the C library has at hand itself."""


class ResultMemory:
    """Makes the arrays of one result."""

    def __init__(self, shape: Sequence[int], dtype: np.dtype) -> None:
        self._shape, self._dtype = tuple(shape), dtype
        self._bytes = prod(shape) * dtype.itemsize
        self._kept: list[np.ndarray] = []

    def array(self) -> np.ndarray:
        """An array with any content whose elements no other array has."""
        try:
            memory = self._kept.pop()
        except IndexError:
            memory = large_page_bytes(self._bytes)
        lease = _Lease(memory, self._kept)
        return np.asarray(lease).view(self._dtype).reshape(self._shape)


class _Lease:
    """Owns memory while arrays over it live, and then leaves it where the next one finds it."""

    def __init__(self, memory: np.ndarray, kept: list[np.ndarray]) -> None:
        self._memory, self._kept = memory, kept

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The memory as bytes, for numpy."""
        return self._memory.__array_interface__

    def __del__(self) -> None:
        if not self._kept:
            offer_pages(int(self._memory.ctypes.data), self._memory.nbytes)
            self._kept.append(self._memory)
