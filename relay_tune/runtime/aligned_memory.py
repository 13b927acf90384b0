"""Memory that begins on the boundary which vectors and cache lines want."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

ALIGNMENT = 64
"""Bytes; a cache line, and the widest vector register."""


def rounded_up(size: int) -> int:
    """The bytes that an object of `size` bytes takes: a positive multiple of ALIGNMENT."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def aligned_bytes(count: int) -> np.ndarray:
    """`count` zero bytes that begin on a boundary."""
    memory = np.zeros(count + ALIGNMENT, dtype=np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + count]


def aligned_array(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """An array of zeros that begins on a boundary."""
    return aligned_bytes(prod(shape) * dtype.itemsize).view(dtype).reshape(shape)


def as_bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of an array, in order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
