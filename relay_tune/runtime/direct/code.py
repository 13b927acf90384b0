"""The native functions of direct calls in this process; they serve all programs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.direct import python_objects as native
from relay_tune.codegen.direct.direct_call import DIRECT_CALL, DIRECT_RESULTS, direct_call_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import native_target
from relay_tune.ir.expr import Constructor
from relay_tune.runtime.direct.python_memory import (
    NEW_ARRAY,
    SET_OWNER,
    WRAP_ARRAY,
    numpy_function,
    value_slots,
)
from relay_tune.runtime.freed_memory import unmap_compiler_pages
from relay_tune.runtime.interpreter.values import ConstructorValue

METH_NOARGS, METH_FASTCALL = 0x04, 0x80
"""Calling conventions: no arguments; a table of arguments and their number."""

Words = ctypes.Array[ctypes.c_uint64]


def new_words(count: int, values: object = ()) -> Words:
    """A table of so many words, at least one, that begins with these values."""
    return (ctypes.c_uint64 * max(count, 1))(*values)  # type: ignore[misc]  # any numbers


@cache
def direct_code() -> LoadedCode:
    """The machine code."""
    target = native_target()
    python = {each.name: getattr(ctypes.pythonapi, each.name) for each in native.PYTHON_FUNCTIONS}
    imports = {
        **{name: function_address(function) for name, function in python.items()},
        native.NEW_ARRAY.name: numpy_function(NEW_ARRAY),
        native.WRAP_ARRAY.name: numpy_function(WRAP_ARRAY),
        native.SET_OWNER.name: numpy_function(SET_OWNER),
        native.ARRAY: id(np.ndarray),
        native.TUPLE: id(tuple),
        native.VALUE: id(ConstructorValue),
        native.CONSTRUCTOR: id(Constructor),
        native.NONE: id(None),
    }
    objects = native.PythonObjects(object.__basicsize__, value_slots())
    text = direct_call_text(target.triple, objects)
    symbols = (DIRECT_CALL.name, DIRECT_RESULTS.name)
    code = LoadedCode([compile_text(text, target)], symbols, imports)
    # Arrays that outlive everything else still free their memory by this code.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    unmap_compiler_pages()  # a process that loads libraries wants LLVM for nothing else
    return code


def function_address(function: Any) -> int:
    """The address of a function that ctypes knows."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class NativeMethod:
    """The Python function `call` that is a native one; it must not outlive this object."""

    def __init__(self, symbol: str, convention: int, words: Words) -> None:
        """`words` describe the calls and must stay."""
        self._definition = _MethodDefinition(b"call", direct_code().address(symbol), convention)
        create = ctypes.pythonapi.PyCFunction_NewEx
        create.restype = ctypes.py_object
        create.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        self.call: Callable[..., Any] = create(
            ctypes.addressof(self._definition), ctypes.addressof(words), None
        )


class _MethodDefinition(ctypes.Structure):
    """`PyMethodDef` of Python's C interface."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("convention", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )
