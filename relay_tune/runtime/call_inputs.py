"""The arguments of a native program as contiguous arrays of exactly the right type."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.dim import Symbol
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType
from relay_tune.runtime.dlpack import array_of_tensor
from relay_tune.runtime.input_check import check_array, number_as

_BYTE = ctypes.c_char


def checked_array(
    value: object, type_: TensorType, name: str, symbols: dict[Symbol, int] | None = None
) -> np.ndarray:
    """A value as a contiguous array of exactly this type; InputError says what does not fit.

    `symbols` are the sizes found so far, which the value must fit and to which it adds.
    """
    if (
        type(value) is np.ndarray
        and value.dtype == DTYPES[type_.dtype]
        and value.shape == type_.shape
        and value.flags.carray
    ):
        return value
    array = _array(value, type_, name)
    check_array(array, type_, name, {} if symbols is None else symbols)
    return array if array.flags.carray else np.require(array, requirements=["C", "A"])


def check_open_sizes(
    arrays: Sequence[tuple[np.ndarray, TensorType, str]], symbols: dict[Symbol, int]
) -> None:
    """Check arrays of types with open sizes and names; InputError says what does not fit.

    Arithmetic of symbols that only later inputs tell is checked here.
    """
    for array, type_, name in arrays:
        check_array(array, type_, name, symbols)


def shape_of_input(
    value: object, type_: TensorType, name: str, symbols: dict[Symbol, int]
) -> tuple[int, ...]:
    """The shape of a value for an input; InputError if it does not fit what is known of it."""
    array = _array(value, type_, name)
    check_array(array, type_, name, symbols)
    return array.shape


def address_of(array: np.ndarray) -> int:
    """The address of an array's elements (three times as quick as `array.ctypes.data`)."""
    if array.size and array.flags.writeable and array.dtype.isbuiltin == 1:
        return ctypes.addressof(_BYTE.from_buffer(array.data))
    return int(array.ctypes.data)


def _array(value: object, type_: TensorType, name: str) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, bool | int | float):
        return number_as(value, type_.dtype, name)
    return any_array(value, name)


def any_array(value: object, name: str) -> np.ndarray:
    """Convert a value to an array of any type; InputError for what cannot be read."""
    try:
        if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray | np.generic):
            return array_of_tensor(value)
        return np.asarray(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"Input {name!r} cannot be read as an array: {str(error).rstrip('.')}.",
            remedy="Give a numpy array, or a tensor in CPU memory that needs no gradient.",
        ) from error
