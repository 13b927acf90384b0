"""The arguments of a native program as contiguous arrays of exactly the right type."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.dim import Dim, Polynomial, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType
from relay_tune.runtime.dlpack import array_of_tensor
from relay_tune.runtime.input_check import check_array, number_as
from relay_tune.runtime.interpreter.inputs import arguments_by_name

_BYTE = ctypes.c_char


class CallInputs:
    """Binds arguments to named inputs and checks them.

    Arrays, whatever offers DLPack or the array protocol, and numbers for scalars are accepted; what
    is not contiguous or not aligned is copied.
    """

    def __init__(self, types: Mapping[str, TensorType]) -> None:
        self._types = types
        self._exact = [(DTYPES[type_.dtype], type_.shape) for type_ in types.values()]
        self._open = {n: _fixed_sizes(t.shape) for n, t in enumerate(types.values())}
        names = [name for type_ in types.values() for dim in type_.shape for name in _names(dim)]
        self._is_related = len(names) > len(set(names))

    def bind(self, positional: Sequence[object], named: Mapping[str, object]) -> list[np.ndarray]:
        """One array for each input, in order; InputError says what does not fit."""
        ready = positional
        if named and not positional and named.keys() == self._types.keys():
            ready = [named[name] for name in self._types]
        if not (named and positional) and len(ready) == len(self._exact) and self._fit(ready):
            return list(ready)  # type: ignore[arg-type]  # all are arrays: `_fit` has looked
        values = arguments_by_name(list(self._types), positional, named)
        arrays = {name: _array(values[name], type_, name) for name, type_ in self._types.items()}
        symbols: dict[Symbol, int] = {}
        for name, type_ in self._types.items():
            check_array(arrays[name], type_, name, symbols)
        return [np.require(array, requirements=["C", "A"]) for array in arrays.values()]

    def _fits_open(self, shape: tuple[int, ...], place: int) -> bool:
        """Whether a shape fits an input with open sizes, none of which stands twice."""
        fixed = self._open[place]
        if fixed is None or len(shape) != len(self._exact[place][1]):
            return False
        return all(shape[axis] == size for axis, size in fixed)

    def _fit(self, values: Sequence[object]) -> bool:
        """Whether all values are ready to be used (the short way of almost all calls)."""
        if self._is_related:
            return False
        for place, (value, (dtype, shape)) in enumerate(zip(values, self._exact, strict=True)):
            if type(value) is not np.ndarray or value.dtype != dtype:
                return False
            if value.shape != shape and not self._fits_open(value.shape, place):
                return False
            if not value.flags.carray and not (value.flags.c_contiguous and value.flags.aligned):
                return False
        return True


def in_order(names: Sequence[str], values: Mapping[str, object]) -> list[object] | None:
    """The values in the order of their names; None unless there is one for each name."""
    if len(values) != len(names):
        return None
    try:
        return [values[name] for name in names]
    except KeyError:
        return None


def _fixed_sizes(shape: tuple[Dim, ...]) -> tuple[tuple[int, int], ...] | None:
    """The axes whose sizes are known, with these; None if all are, or some are arithmetic."""
    if not any(isinstance(dim, Symbol | UnknownDim) for dim in shape):
        return None
    if any(isinstance(dim, Polynomial) for dim in shape):
        return None
    return tuple((axis, dim) for axis, dim in enumerate(shape) if isinstance(dim, int))


def _names(dim: Dim) -> frozenset[str]:
    return frozenset() if isinstance(dim, int) else symbol_names(dim)


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
    return np.require(array, requirements=["C", "A"])


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
    try:
        if hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
            return array_of_tensor(value)
        return np.asarray(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"Input {name!r} cannot be read as an array: {str(error).rstrip('.')}.",
            remedy="Give a numpy array, or a tensor in CPU memory that needs no gradient.",
        ) from error
