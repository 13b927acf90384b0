"""Whether objects of Python and arrays of numpy lie in memory as native code reads them.

The fields of tuples are part of Python's C interface, those of arrays of numpy's; the slots of our
own classes are found in an object.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from functools import cache
from typing import Any

import numpy as np

from relay_tune.codegen.direct.python_objects import (
    ALIGNED,
    CONTIGUOUS,
    DATA,
    DTYPE,
    ELEMENTS,
    FLAGS,
    RANK,
    SIZES,
    SLOTS,
)
from relay_tune.codegen.word_table import WORD
from relay_tune.ir.expr import Constructor
from relay_tune.ir.types import GlobalTypeVar
from relay_tune.runtime.interpreter.values import ConstructorValue

NEW_ARRAY, WRAP_ARRAY, SET_OWNER = 184, 94, 282
"""The numbers of `PyArray_Empty`, `PyArray_NewFromDescr` and `PyArray_SetBaseObject` in numpy's C
interface (`__multiarray_api.h`); numbers stay."""


def can_call_directly() -> bool:
    """Whether native code can read arguments and make results."""
    return (
        sys.implementation.name == "cpython"
        and sys.byteorder == "little"
        and _array_is_known(np.ones((2, 3), np.float32))
        and all(_element_type_is_known(np.dtype(name)) for name in ("float32", "bool"))
        and _tuple_is_known(("a", "b", "c"))
        and value_slots().keys() == {*SLOTS}
    )


@cache
def value_slots() -> dict[str, int]:
    """The offsets of the slots of values in their objects, where they are found."""
    constructor = Constructor("Sample", (), GlobalTypeVar("Sample"), 0)
    fields = (constructor,)
    value = ConstructorValue(constructor, fields)
    offsets = {
        "value_constructor": _offset(value, constructor),
        "value_fields": _offset(value, fields),
    }
    return {name: offset for name, offset in offsets.items() if offset is not None}


def numpy_function(number: int) -> int:
    """The address of a function of numpy's C interface."""
    interface = importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    return _word(pointer(interface, None) + WORD * number)


def _array_is_known(array: np.ndarray) -> bool:
    """Whether all fields that native code reads are found in an array."""
    start = id(array) + object.__basicsize__
    rank = ctypes.c_int32.from_address(start + RANK).value
    if _word(start - WORD) != id(np.ndarray) or rank != array.ndim:
        return False
    sizes = [_word(_word(start + SIZES) + WORD * axis) for axis in range(rank)]
    flags = ctypes.c_int32.from_address(start + FLAGS).value
    return (
        _word(start + DATA) == array.ctypes.data
        and sizes == list(array.shape)
        and _word(start + DTYPE) == id(array.dtype)
        and flags == array.flags.num
        and flags & (CONTIGUOUS | ALIGNED) == CONTIGUOUS | ALIGNED
    )


def _element_type_is_known(dtype: np.dtype[Any]) -> bool:
    """Whether the fields of an element type are found in it that tell it from others."""
    start = id(dtype) + object.__basicsize__ + ELEMENTS
    letters = dtype.kind + dtype.char + dtype.byteorder
    number = ctypes.c_int32.from_address(start + 4).value
    return ctypes.string_at(start, 3) == letters.encode() and number == dtype.num


def _tuple_is_known(sample: tuple[object, ...]) -> bool:
    """Whether the length of a tuple and its items are found in it."""
    start = id(sample) + object.__basicsize__
    found = [_word(start + WORD * index) for index in range(1 + len(sample))]
    return found == [len(sample), *map(id, sample)]


def _offset(instance: object, content: object) -> int | None:
    """Where an object has a reference to another one."""
    for offset in range(object.__basicsize__, type(instance).__basicsize__, WORD):
        if _word(id(instance) + offset) == id(content):
            return offset
    return None


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value
