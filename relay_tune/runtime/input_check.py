"""Whether an array fits the type of an input, and what to do where it does not."""

from __future__ import annotations

from math import prod

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.dim import Dim, Polynomial, Symbol
from relay_tune.ir.dim_arithmetic import substitute
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType
from relay_tune.typing.type_text import type_text


def number_as(value: bool | int | float, dtype: str, name: str) -> np.ndarray:
    """A Python number as a scalar; InputError where a type of integers cannot hold it."""
    try:
        array = np.asarray(value, dtype=DTYPES[dtype])
        if array.dtype.kind not in "biu" or array == value:
            return array
        reason = f"{dtype} would make {array} of it"
    except (ValueError, OverflowError) as error:
        reason = str(error)
    raise InputError(
        f"Input {name!r} is {value!r}, which is no {dtype}: {reason}.",
        remedy="Give a number that this type can hold, or convert it first.",
    )


def check_array(
    array: np.ndarray, type_: TensorType, name: str, symbols: dict[Symbol, int]
) -> None:
    """InputError unless the array has the element type and the sizes.

    `symbols` has the sizes of symbols that other inputs gave, and is told of new ones.
    """
    fits = array.dtype == DTYPES[type_.dtype] and array.ndim == len(type_.shape)
    for size, dim in zip(array.shape, type_.shape, strict=False):
        if type(dim) is int:
            fits = fits and size == dim
        elif type(dim) is Symbol:  # most open sizes are: the quicker way
            fits = fits and symbols.setdefault(dim, size) == size
        else:
            fits = fits and _dim_fits(size, dim, symbols)
    if fits:
        return
    given = TensorType(array.shape, array.dtype.name)
    raise InputError(
        f"Input {name!r} must be {type_text(type_)}, but {type_text(given)} was given.",
        notes=tuple(f"{symbol} is {size} here." for symbol, size in symbols.items()),
        remedy=_remedy(array, type_, name),
    )


def _remedy(array: np.ndarray, type_: TensorType, name: str) -> str:
    if array.dtype.kind not in "biufV":  # bfloat16 is of the last kind
        return "Give an array of numbers."
    own = name if name.isidentifier() else "array"
    if array.dtype != DTYPES[type_.dtype]:
        if array.dtype == DTYPES[type_.dtype].newbyteorder():
            return f'Its bytes are swapped; convert it: {own}.astype("{type_.dtype}").'
        if array.ndim != len(type_.shape):
            return f"Give an array of {len(type_.shape)} dimension(s), and of {type_.dtype}."
        return f'Convert it: {own}.astype("{type_.dtype}").'
    shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
    if array.ndim != len(type_.shape) and len(shape) < len(type_.shape):
        return f"Give an array of {len(type_.shape)} dimension(s)."
    if len(shape) < len(type_.shape):
        return "Sizes that have a name may be any, but the same wherever the name stands."
    if prod(shape) == array.size:
        return f"Arrange its elements: {own}.reshape({shape})."
    return (
        f"Give an array of the shape {shape}, or make the model for the shape {array.shape}: "
        "sizes are fixed when a model is imported, written or exported."
    )


def _dim_fits(size: int, dim: Dim, symbols: dict[Symbol, int]) -> bool:
    match dim:
        case Polynomial():
            known: dict[str, Dim] = {symbol.name: value for symbol, value in symbols.items()}
            found = substitute(dim, known)
            return found == size or not isinstance(found, int)
        case _:
            return True
