"""Memory in large pages, which processors translate at once and fetch ahead in without a break.

Caches of 1,000 words of a decoder, 24 of 3.9 MB, are read with 18 GB/s from pages of 4 KB, and with
up to 39 from pages of 2 MB (one core of a Zen 5 server).
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import cache

import numpy as np

from relay_tune.runtime.aligned_memory import aligned_bytes

LARGE_PAGE = 1 << 21
"""Bytes of the pages that x86-64, and AArch64 with small pages of 4 KB, translate at once."""

SMALLEST = 1 << 20
"""Arrays of so many bytes lie in large pages: they take a whole one at most more than they need."""

SMALL_PAGE = 4096
"""The smallest pages that there are."""

_MADV_FREE, _MADV_HUGEPAGE = 8, 14


def large_page_room(size: int) -> int:
    """How many bytes to take for `size` that begin on a large page; as many if it is smaller."""
    if sys.platform != "linux" or size < LARGE_PAGE:
        return size
    return -(-size // LARGE_PAGE) * LARGE_PAGE + LARGE_PAGE


def large_page_bytes(count: int, smallest: int = SMALLEST) -> np.ndarray:
    """`count` zero bytes in large pages of their own, where there are such; MemoryError.

    Fewer than `smallest` begin on a cache line somewhere.
    """
    if sys.platform != "linux" or count < smallest:
        return aligned_bytes(count)
    room = -(-count // LARGE_PAGE) * LARGE_PAGE
    try:
        mapped = mmap.mmap(-1, room + LARGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"no room for {count} bytes") from None
    memory = np.frombuffer(mapped, np.uint8)
    start = -memory.ctypes.data % LARGE_PAGE
    ask_for_large_pages(int(memory.ctypes.data) + start, room)
    return memory[start : start + count]


def ask_for_large_pages(address: int, size: int) -> None:
    """Ask the system for large pages behind an address; one without such pages changes nothing."""
    _advise_whole(address, size, LARGE_PAGE, _MADV_HUGEPAGE)


def offer_pages(address: int, size: int) -> None:
    """Let the system take pages, should it need them before they are written again (Linux)."""
    _advise_whole(address, size, SMALL_PAGE, _MADV_FREE)


def _advise_whole(address: int, size: int, page: int, advice: int) -> None:
    """Say something of the pages of `page` bytes that lie wholly behind an address (Linux)."""
    if sys.platform != "linux":
        return
    begin = -(-address // page) * page
    end = (address + size) // page * page
    if begin < end:
        _advise()(begin, end - begin, advice)


@cache
def _advise() -> ctypes._NamedFuncPointer:
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return advise
