"""Scalar constants as text: a number with a suffix that names its type, True, False.

1 1i int32    1i8 1i16 1i64 1u8 1u16 1u32 1u64    1f float32    1f16 1bf16 1f64    inff nanf
"""

from __future__ import annotations

import re

import numpy as np

from relay_tune.ir.dtypes import DTYPES, dtype_name
from relay_tune.quick_dataclass import dataclass

DTYPE_OF_SUFFIX = {
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f": "float32",
    "f64": "float64",
}
_SUFFIX_OF_DTYPE = {dtype: suffix for suffix, dtype in DTYPE_OF_SUFFIX.items()} | {"int32": ""}

_NUMBER = re.compile(r"(inf|nan|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)([A-Za-z_0-9]*)")
_LONGEST_INTEGER = 4000


class LiteralError(ValueError):
    """A number that is not what its suffix says; the message is a fragment."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: digits and suffix."""

    digits: str
    suffix: str

    @property
    def is_integer(self) -> bool:
        """Whether this is a whole number by its form."""
        return self.digits.isdigit() and not self.suffix.lstrip("b").startswith("f")

    def python_value(self, negative: bool) -> int | float:
        """The value for an attribute, as int or float; raises LiteralError."""
        _check_suffix(self.suffix)
        sign = -1 if negative else 1
        if self.is_integer:
            if len(self.digits) > _LONGEST_INTEGER:
                raise LiteralError("too many digits")
            return sign * int(self.digits)
        return sign * float(self.digits)


def split_number(text: str) -> Number:
    """The digits and the suffix of a number token."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise LiteralError("not a number")
    return Number(found[1], found[2])


def scalar_array(text: str, negative: bool) -> np.ndarray:
    """The rank-0 array that a number token stands for; raises LiteralError."""
    number = split_number(text)
    _check_suffix(number.suffix)
    dtype = DTYPE_OF_SUFFIX.get(number.suffix)
    if number.is_integer:
        return _integer_array(int(number.python_value(negative)), dtype)
    data = _float_array(float(number.python_value(negative)), dtype or "float32")
    if np.isinf(data) and number.digits != "inf":
        raise LiteralError(f"does not fit {dtype or 'float32'}")
    return data


def scalar_text(data: np.ndarray) -> str | None:
    """The literal for a rank-0 array, or None where no literal gives back the same bits."""
    dtype = dtype_name(data)
    if dtype == "bool":
        return str(bool(data))
    text = _shortest(data, dtype).removesuffix(".0") + _SUFFIX_OF_DTYPE[dtype]
    negative = text.startswith("-")
    restored = scalar_array(text.removeprefix("-"), negative)
    exact = restored.tobytes() == data.astype(restored.dtype).tobytes()
    return text if exact else None


def _shortest(data: np.ndarray, dtype: str) -> str:
    if dtype == "float32":
        return str(np.float32(data))
    return str(float(data)) if "float" in dtype else str(int(data))


def _check_suffix(suffix: str) -> None:
    if suffix and suffix not in DTYPE_OF_SUFFIX:
        raise LiteralError(f"'{suffix}' is no suffix; there are {', '.join(DTYPE_OF_SUFFIX)}")


def _integer_array(value: int, dtype: str | None) -> np.ndarray:
    for candidate in (dtype,) if dtype is not None else ("int32", "int64"):
        limits = np.iinfo(DTYPES[candidate])
        if limits.min <= value <= limits.max:
            return np.asarray(value, dtype=DTYPES[candidate])
    raise LiteralError(f"does not fit {dtype or 'int64'}")


def _float_array(value: float, dtype: str) -> np.ndarray:
    if not dtype.endswith(("float16", "float32", "float64")):
        raise LiteralError(f"has a fraction, which {dtype} has not")
    with np.errstate(over="ignore"):
        return np.asarray(value, dtype=DTYPES[dtype])
