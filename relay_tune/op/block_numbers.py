"""Floats as numbers of few bits with a scale for each block: what qnn.dequantize_blocks reads.

Scales are float16. Of 8 bits the largest magnitude of a block becomes 127; of 4 bits it becomes -8,
or somewhat less, whichever of a few scales leaves the least squared error: large weights are few.
"""

from __future__ import annotations

import numpy as np

from relay_tune.op.block_quantization import packed_numbers
from relay_tune.op.elements import Array

SHRINKAGES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75)
"""Of the largest magnitude of a block of 4 bits."""

CHUNK = 1 << 20
"""Elements that are worked on at a time."""


def block_numbers(rows: Array, bits: int, block: int) -> tuple[Array, Array, Array] | None:
    """The bytes, scales and zero point of a matrix of floats; None where these do not fit.

    Scales of float16 cannot be those of infinite, huge or only tiny weights.
    """
    size = rows.shape[1]
    whole = np.zeros((len(rows), -(-size // block) * block), np.float32)
    whole[:, :size] = rows
    blocks = whole.reshape(-1, block)
    if not np.isfinite(blocks).all():
        return None
    numbers = np.empty(blocks.shape, np.int8)
    scales = np.empty(len(blocks), np.float16)
    step = max(CHUNK // block, 1)
    for begin in range(0, len(blocks), step):
        part = slice(begin, begin + step)
        numbers[part], scales[part] = _eight(blocks[part]) if bits == 8 else _four(blocks[part])
    if not np.isfinite(scales).all() or (scales == 0)[np.any(blocks != 0, axis=1)].any():
        return None
    flat = numbers.reshape(len(rows), -1)[:, :size]
    scale = scales.reshape(len(rows), -1)
    if bits == 8:
        return np.ascontiguousarray(flat), scale, np.zeros((), np.int8)
    return packed_numbers((flat + 8).astype(np.uint8), 4), scale, np.full((), 8, np.uint8)


def _eight(blocks: Array) -> tuple[Array, Array]:
    largest = np.abs(blocks).max(axis=1)
    with np.errstate(over="ignore"):
        scales = (largest / np.float32(127)).astype(np.float16)
    return _rounded(blocks, scales, -127, 127), scales


def _four(blocks: Array) -> tuple[Array, Array]:
    at = np.abs(blocks).argmax(axis=1)
    largest = np.take_along_axis(blocks, at[:, None], axis=1)[:, 0]
    best = np.full(len(blocks), np.inf, np.float32)
    numbers, scales = np.zeros(blocks.shape, np.int8), np.zeros(len(blocks), np.float16)
    for shrinkage in SHRINKAGES:
        with np.errstate(over="ignore"):
            tried = (largest * np.float32(shrinkage / -8)).astype(np.float16)
        found = _rounded(blocks, tried, -8, 7)
        with np.errstate(all="ignore"):
            error = np.square(found * tried.astype(np.float32)[:, None] - blocks).sum(axis=1)
        is_better = error < best
        best[is_better] = error[is_better]
        numbers[is_better], scales[is_better] = found[is_better], tried[is_better]
    return numbers, scales


def _rounded(blocks: Array, scales: Array, low: int, high: int) -> Array:
    """The nearest numbers; 0 where the scale is 0."""
    wide = scales.astype(np.float32)[:, None]
    with np.errstate(all="ignore"):
        ratio = np.where(wide == 0, np.float32(0), blocks / wide)
    limited: Array = np.clip(np.nan_to_num(np.rint(ratio)), low, high).astype(np.int8)
    return limited
