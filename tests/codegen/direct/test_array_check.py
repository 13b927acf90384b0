"""Arrays that native code accepts."""

import ctypes

import numpy as np

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.direct.array_check import NO_SIZE, check_array
from relay_tune.codegen.direct.python_objects import PythonObjects
from relay_tune.codegen.direct.words import ArrayForm
from tests.codegen.builder.native_function import native


def check(code: FunctionBuilder) -> None:
    array, form, symbols = (each.to_ptr() for each in code.parameters)
    with code.block() as refused:
        python = PythonObjects(object.__basicsize__, {})
        check_array(code, python, array, form, symbols, refused)
        code.ret(1)
    code.ret(0)


CHECK = native(check, 3)


def fits(array: np.ndarray, *sizes: int, symbols: tuple[int, ...] = ()) -> tuple[bool, list[int]]:
    """Whether an array is one of float32 of these sizes, and the sizes of the symbols then."""
    dtype, wanted = np.dtype(np.float32), (ctypes.c_int64 * 8)(*sizes)
    form = (ctypes.c_uint64 * len(ArrayForm))()
    form[ArrayForm.DTYPE] = id(dtype)
    form[ArrayForm.RANK] = len(sizes)
    form[ArrayForm.SIZES] = ctypes.addressof(wanted)
    known = (ctypes.c_int64 * 8)(*symbols)
    result = CHECK(id(array), ctypes.addressof(form), ctypes.addressof(known))
    return bool(result), known[: len(symbols)]


def test_only_arrays_of_the_same_type_fit() -> None:
    array = np.zeros((2, 3), np.float32)
    assert fits(array, 2, 3)[0]
    assert not fits(array, 2, 4)[0]
    assert not fits(array, 2)[0]
    assert not fits(array.astype(np.int32), 2, 3)[0]
    assert not fits(np.zeros((3, 2), np.float32).T, 2, 3)[0]


def test_symbols_are_what_they_are_first() -> None:
    array = np.zeros((2, 2, 5), np.float32)
    assert fits(array, -1, -1, -2, symbols=(NO_SIZE, 5)) == (True, [2, 5])
    assert not fits(array, -1, -1, -1, symbols=(NO_SIZE,))[0]
    assert not fits(array, -1, 2, 5, symbols=(3,))[0]
