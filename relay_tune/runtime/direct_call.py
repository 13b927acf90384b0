"""The short way of a call: from arrays that fit into native code, with little of Python on it.

A network that reads more weights than the near caches hold leaves nothing of Python in them. Each
object that a call touches then comes from far away: a call through ctypes with checks in Python
took 50 us after a network of 3 MB and 5 us otherwise, this one takes 20 us and 1 us. Most of what
is left is numpy's, for the outputs.

Inputs that do not fit exactly are refused, and take the long way, which converts them or says what
is wrong.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from threading import Lock

import numpy as np

from relay_tune.codegen.array_check_text import (
    ALIGNED,
    CONTIGUOUS,
    DATA,
    DTYPE,
    FLAGS,
    RANK,
    SIZES,
)
from relay_tune.codegen.compiler import LoadedCode, compile_text
from relay_tune.codegen.direct_call_text import (
    DIRECT_CALL_SYMBOL,
    FALSE_SYMBOL,
    PYTHON_FUNCTIONS,
    TRUE_SYMBOL,
    direct_call_text,
)
from relay_tune.codegen.target import native_target
from relay_tune.runtime.threads import thread_pool

Form = tuple[tuple[int, ...], np.dtype]
"""Shape and element type of an array."""

METH_FASTCALL = 0x80
"""Calling convention: a table of arguments and their number."""


class DirectCall:
    """Calls one program with arrays of exactly its types.

    Arguments: the inputs by name, the outputs, the address of the program's function, its table of
    addresses (inputs, then outputs, first), and the lock that every user of the table holds.
    """

    def __init__(
        self,
        inputs: Mapping[str, Form],
        outputs: Sequence[Form],
        function: int,
        table: ctypes.Array[ctypes.c_void_p],
        lock: Lock,
    ) -> None:
        self._names = tuple(inputs)
        self._outputs = tuple(outputs)
        self._lock = lock
        self._native = _NativeFunction((*inputs.values(), *outputs), function, table)
        self._call = self._native.call

    def __call__(self, inputs: Sequence[object], threads: int) -> list[np.ndarray] | None:
        """The outputs, in new arrays; None, and nothing was run, if the inputs do not fit."""
        outputs = [np.empty(shape, dtype) for shape, dtype in self._outputs]
        with self._lock:
            if self._call(*inputs, *outputs, threads):
                return outputs
        return None

    def by_name(self, inputs: Mapping[str, object], threads: int) -> list[np.ndarray] | None:
        """The same for inputs by name."""
        if len(inputs) != len(self._names):
            return None
        try:
            ordered = [inputs[name] for name in self._names]
        except KeyError:
            return None
        return self(ordered, threads)


def can_call_directly() -> bool:
    """Whether objects of this Python and arrays of this numpy lie in memory as they should."""
    return sys.implementation.name == "cpython" and _array_is_known(np.ones((2, 3), np.float32))


def _array_is_known(array: np.ndarray) -> bool:
    """Whether all fields that native code reads are found in an array."""
    start = id(array) + object.__basicsize__

    def word(place: int) -> int:
        return ctypes.c_uint64.from_address(place).value

    rank = ctypes.c_int32.from_address(start + RANK).value
    if word(start - 8) != id(np.ndarray) or rank != array.ndim:
        return False
    sizes = [word(word(start + SIZES) + 8 * axis) for axis in range(rank)]
    flags = ctypes.c_int32.from_address(start + FLAGS).value
    return (
        word(start + DATA) == array.ctypes.data
        and sizes == list(array.shape)
        and word(start + DTYPE) == id(array.dtype)
        and flags == array.flags.num
        and flags & (CONTIGUOUS | ALIGNED) == CONTIGUOUS | ALIGNED
    )


@cache
def _direct_call_code() -> LoadedCode:
    """The native function, which serves all programs."""
    target = native_target()
    functions = {name: getattr(ctypes.pythonapi, name) for name in PYTHON_FUNCTIONS}
    addresses = {
        name: ctypes.cast(function, ctypes.c_void_p).value or 0
        for name, function in functions.items()
    }
    truth = {TRUE_SYMBOL: id(True), FALSE_SYMBOL: id(False)}
    text = direct_call_text(target.triple, object.__basicsize__)
    imports = {**thread_pool().imports, **addresses, **truth}
    return LoadedCode([compile_text(text, target)], [DIRECT_CALL_SYMBOL], imports)


class _MethodDefinition(ctypes.Structure):
    """`PyMethodDef` of Python's C interface."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("convention", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


class _NativeFunction:
    """The Python function `call`, and all memory that it uses; it must not outlive this object."""

    def __init__(
        self, forms: Sequence[Form], function: int, table: ctypes.Array[ctypes.c_void_p]
    ) -> None:
        self._forms = tuple(forms)
        self._table = table
        self._sizes = [(ctypes.c_int64 * max(len(shape), 1))(*shape) for shape, _ in forms]
        words = [len(forms), id(np.ndarray), ctypes.addressof(table), function]
        for (shape, dtype), sizes in zip(forms, self._sizes, strict=True):
            words += [id(dtype), len(shape), ctypes.addressof(sizes)]
        self._description = (ctypes.c_uint64 * len(words))(*words)
        self._definition = _MethodDefinition(
            b"call", _direct_call_code().address(DIRECT_CALL_SYMBOL), METH_FASTCALL, None
        )
        create = ctypes.pythonapi.PyCFunction_NewEx
        create.restype = ctypes.py_object
        create.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        self.call: Callable[..., bool] = create(
            ctypes.addressof(self._definition), ctypes.addressof(self._description), None
        )
