"""Element types of at most 8 bits that programs store, but do not compute with.

Integers of 2 and 4 bits are stored one a byte, as int8 or uint8 with their values; floats of 4 and
8 bits as uint8 with their bits. Operators that only move elements take them as they are, and casts
and (de)quantization convert: floats by tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from onnx import TensorProto

from relay_tune.quick_dataclass import dataclass

ROUNDINGS = ("up", "down", "nearest")
"""How a number between two powers of two is rounded to float8e8m0."""


@dataclass(frozen=True)
class NarrowType:
    """An element type that is only stored.

    Attributes:
        name: what ONNX calls it.
        bits: of one element in a file.
        storage: the dtype of the tensors that hold it.
        dtype: its counterpart in numpy.
    """

    name: str
    bits: int
    storage: str
    dtype: np.dtype[Any]

    @property
    def is_float(self) -> bool:
        """Whether the stored numbers are bits of floats, rather than values of integers."""
        return self.name.startswith("float")

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest value of an integer type."""
        info = ml_dtypes.iinfo(self.dtype)
        return int(info.min), int(info.max)


_DTYPES = {
    "INT4": (4, "int8", "int4"),
    "UINT4": (4, "uint8", "uint4"),
    "INT2": (2, "int8", "int2"),
    "UINT2": (2, "uint8", "uint2"),
    "FLOAT8E4M3FN": (8, "uint8", "float8_e4m3fn"),
    "FLOAT8E4M3FNUZ": (8, "uint8", "float8_e4m3fnuz"),
    "FLOAT8E5M2": (8, "uint8", "float8_e5m2"),
    "FLOAT8E5M2FNUZ": (8, "uint8", "float8_e5m2fnuz"),
    "FLOAT4E2M1": (4, "uint8", "float4_e2m1fn"),
    "FLOAT8E8M0": (8, "uint8", "float8_e8m0fnu"),
}


def _known_types() -> dict[int, NarrowType]:
    """Those that the installed libraries know."""
    numbers = dict(TensorProto.DataType.items())
    return {
        numbers[name]: NarrowType(name.lower(), bits, storage, np.dtype(getattr(ml_dtypes, dtype)))
        for name, (bits, storage, dtype) in _DTYPES.items()
        if name in numbers and hasattr(ml_dtypes, dtype)
    }


NARROW_TYPES: Mapping[int, NarrowType] = _known_types()
"""By their number in ONNX."""


def number_of(type_: NarrowType) -> int:
    """Its number in ONNX."""
    return next(number for number, each in NARROW_TYPES.items() if each == type_)


def unpacked(raw: bytes, type_: NarrowType, count: int) -> np.ndarray:
    """`count` elements in their storage type; those of less than 8 bits start at the low bits."""
    data = np.frombuffer(raw, np.uint8)
    if type_.bits == 8:
        return data[:count]
    shifts = np.arange(0, 8, type_.bits, dtype=np.uint8)
    digits = (data[:, None] >> shifts) & np.uint8(2**type_.bits - 1)
    codes: np.ndarray = digits.astype(np.int8).reshape(-1)[:count]
    if type_.storage == "int8":
        sign = np.int8(1 << (type_.bits - 1))
        codes = (codes ^ sign) - sign
    values: np.ndarray = codes.astype(type_.storage)
    return values


def stored(array: np.ndarray, type_: NarrowType) -> np.ndarray:
    """An array of the type's own dtype as programs take it."""
    if type_.is_float:
        return _viewed(array, np.dtype(np.uint8))
    values: np.ndarray = array.astype(type_.storage)
    return values


def restored(array: np.ndarray, type_: NarrowType) -> np.ndarray:
    """An array that a program stored, with the type's own dtype."""
    if type_.is_float:
        return _viewed(array, type_.dtype)
    values: np.ndarray = array.astype(type_.dtype)
    return values


def _viewed(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    seen: np.ndarray = np.ascontiguousarray(array).view(dtype).reshape(array.shape)
    return seen


def decoded_values(type_: NarrowType) -> np.ndarray:
    """The float32 value of each byte."""
    codes = np.arange(256, dtype=np.uint8) & (2**type_.bits - 1)
    with np.errstate(all="ignore"):
        values: np.ndarray = restored(codes.astype(np.uint8), type_).astype(np.float32)
    return values


@dataclass(frozen=True, eq=False)
class Rounding:
    """Which byte a float32 becomes.

    The byte of x is codes[n], where n thresholds are at most |x|; of a negative x it is
    codes[n + N + 1], where N is the number of thresholds; of NaN it is the last.

    Attributes:
        thresholds: float32, ascending.
        codes: uint8.
    """

    thresholds: np.ndarray
    codes: np.ndarray


@cache
def rounding(type_: NarrowType, saturate: bool, mode: str) -> Rounding:
    """The rounding to a float type; `mode` is one of ROUNDINGS and matters for float8e8m0 only."""
    if type_.name == "float8e8m0":
        return _power_rounding(saturate, mode)
    values = decoded_values(type_)
    steps = np.unique(np.abs(values[np.isfinite(values)]))
    steps = np.append(steps, np.float32(np.inf))
    low, high = (part.view(np.int32).astype(np.int64) for part in (steps[:-1], steps[1:]))
    below = _cast(steps[:-1], type_, saturate)
    while np.any(high - low > 1):  # the bits of positive floats are ordered as the floats are
        middle = (low + high) // 2
        stays = _cast(middle.astype(np.int32).view(np.float32), type_, saturate) == below
        low, high = np.where(stays, middle, low), np.where(stays, high, middle)
    ends = high.astype(np.int32).view(np.float32)
    above = _cast(ends, type_, saturate)
    used = above != below
    magnitudes = np.append(steps[:1], ends[used])
    negative = _cast(-magnitudes, type_, saturate)
    nan = _cast(np.array([np.nan], np.float32), type_, saturate)
    codes = np.concatenate([below[:1], above[used], negative, nan])
    return Rounding(ends[used], codes)


def _cast(values: np.ndarray, type_: NarrowType, saturate: bool) -> np.ndarray:
    """The bytes of float32 numbers."""
    with np.errstate(all="ignore"):
        if saturate:
            info = ml_dtypes.finfo(type_.dtype)
            values = np.clip(values, np.float32(info.min), np.float32(info.max))
        return values.astype(type_.dtype).view(np.uint8)


def _power_rounding(saturate: bool, mode: str) -> Rounding:
    """To powers of two, whatever the sign is: 2 ** (byte - 127), and 255 for NaN."""
    powers = 2.0 ** np.arange(-127, 128)
    match mode:
        case "down":
            steps = powers[1:]
        case "nearest":
            steps = 1.5 * powers
        case _:
            steps = np.nextafter(powers.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    above = np.arange(1, len(steps) + 1)
    kept = len(powers) - 1 if saturate else len(steps)
    steps, above = steps[:kept], above[:kept]
    thresholds = np.append(steps, np.inf).astype(np.float32)
    magnitudes = np.concatenate([[0], above, [255]])
    codes = np.concatenate([magnitudes, magnitudes, [255]]).astype(np.uint8)
    return Rounding(thresholds, codes)
