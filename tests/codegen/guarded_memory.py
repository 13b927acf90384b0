"""Arrays between pages that must not be touched: a stray access ends the process."""

import ctypes
import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
NO_ACCESS = 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def guarded_array(
    shape: Sequence[int], dtype: np.dtype[Any], *, at_end: bool = True
) -> np.ndarray[Any, Any]:
    """An array filled with 0xA5 that ends (or begins) at a page without access.

    The other side has such a page too, up to a page further off. An array of odd size begins at a
    multiple of four bytes, as kernels may expect, so up to three bytes behind it are readable.
    """
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    usable = max(1, -(-size // PAGE)) * PAGE
    memory = mmap.mmap(-1, usable + 2 * PAGE)
    whole = np.frombuffer(memory, np.uint8)
    whole[PAGE : PAGE + usable] = 0xA5
    for page in (whole.ctypes.data, whole.ctypes.data + PAGE + usable):
        if _libc.mprotect(page, PAGE, NO_ACCESS) != 0:
            raise OSError(ctypes.get_errno(), "a page cannot be protected")
    begin = PAGE + (usable - (size + 3) // 4 * 4 if at_end else 0)
    return whole[begin : begin + size].view(dtype).reshape(tuple(shape))


def guarded_copy(data: np.ndarray[Any, Any], *, at_end: bool = True) -> np.ndarray[Any, Any]:
    """The array between pages that must not be touched."""
    copy = guarded_array(data.shape, data.dtype, at_end=at_end)
    copy[...] = data
    return copy
