"""Integers of full ranges, zero points, and scales, drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

BYTES = ("uint8", "int8")


MOST_WEIGHT = 128
"""The largest magnitude of a byte with a sign."""


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    """Integers of the whole range of a type, about half of them at its ends."""
    info = np.iinfo(dtype)
    drawn = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    ends = rng.choice(np.array([info.min, info.max], dtype), shape)
    return np.where(rng.random(shape) < 0.5, ends, drawn).astype(dtype)


def weights(rng: np.random.Generator, shape: Sequence[int], dtype: str, most: int) -> Array:
    """The same, of which signed ones lie within `most` of zero."""
    drawn = numbers(rng, shape, dtype)
    if np.iinfo(dtype).min == 0:
        return drawn
    return np.clip(drawn.astype(np.int64), -most, most).astype(dtype)


def byte_type(rng: np.random.Generator) -> str:
    """Signed or unsigned bytes."""
    return str(rng.choice(BYTES))


def zero_point(rng: np.random.Generator, dtype: str, count: int) -> Array:
    """One number for all, or one for each of `count`; now and then nothing but zeros."""
    shape = () if rng.random() < 0.5 else (count,)
    if rng.random() < 0.25:
        return np.zeros(shape, dtype)
    return np.asarray(numbers(rng, shape, dtype), dtype)


def scale(rng: np.random.Generator, *shape: int) -> Array:
    """Powers of two, by which products of integers are multiplied exactly."""
    return np.asarray(2.0 ** rng.integers(-6, 1, shape), np.float32)


def wrapped(sums: Array) -> Array:
    """Sums modulo 2^32, as int32."""
    return sums.astype(np.int64).astype(np.int32)


def stored(real: Array, factor: Array, zero: Array) -> Array:
    """real / factor, rounded to the next integers, halves to even ones, within a type."""
    info = np.iinfo(zero.dtype)
    shifted = np.rint(real / factor.astype(np.float64)) + zero.astype(np.float64)
    return np.asarray(np.clip(shifted, info.min, info.max), zero.dtype)
