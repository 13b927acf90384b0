"""How a tensor is stored: an integer type with its scales and zero points."""

from __future__ import annotations

import numpy as np

from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class StoredType:
    """real = (stored - zero point) * scale.

    Attributes:
        dtype: the integer type.
        scale: float32, positive: one number, or one for each index of the axis.
        zero: of the integer type and the same shape.
    """

    dtype: str
    scale: np.ndarray
    zero: np.ndarray

    @staticmethod
    def symmetric(dtype: str, scale: np.ndarray | float) -> StoredType:
        """A type with the zero points 0."""
        scales = np.asarray(scale, np.float32)
        return StoredType(dtype, scales, np.zeros(scales.shape, dtype))

    @staticmethod
    def of_range(dtype: str, low: float, high: float) -> StoredType:
        """The type whose numbers lie between two finite ones, or 0 where that is outside.

        0 is stored exactly, as padding and relu need. The numbers may not both be 0.
        """
        info = np.iinfo(dtype)
        low, high = min(low, 0.0), max(high, 0.0)
        scale = np.float32((high - low) / (info.max - info.min))
        zero = np.clip(np.rint(info.min - low / float(scale)), info.min, info.max)
        return StoredType(dtype, np.asarray(scale), np.asarray(zero, dtype))

    def rounded(self, data: np.ndarray) -> np.ndarray:
        """float64 numbers as they are read back once they were stored; scales are one number."""
        info = np.iinfo(self.dtype)
        scale, zero = float(self.scale), int(self.zero)
        stored = np.clip(np.rint(data / scale) + zero, info.min, info.max)
        return np.asarray((stored - zero) * scale, np.float64)
