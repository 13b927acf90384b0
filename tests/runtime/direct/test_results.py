"""Results that native code makes in Python's memory."""

import gc
import sys

import numpy as np
import pytest

from relay_tune.errors import RelayError
from relay_tune.runtime.data_values import list_items
from relay_tune.runtime.direct.python_memory import can_call_directly
from relay_tune.runtime.direct.results import FIRST_OBJECTS
from relay_tune.runtime.interpreter.values import ConstructorValue
from tests.properties.programs.compare import assert_same_value
from tests.runtime.direct.values import ROW, deep, direct_call_of, flat, listed, loaded, row

pytestmark = pytest.mark.skipif(not can_call_directly(), reason="needs CPython's objects")

COPY = f"def @main(%x: Shape[{ROW}]) {{ %x }}"
RANGE = """
def @range(%n: int32, %x: List[(int32, Tensor[(1, 3), float32])], %a: Tensor[(1, 3), float32])
    -> List[(int32, Tensor[(1, 3), float32])] {
  if (%n == 0) { %x } else { @range(%n - 1, Cons((%n, %a), %x), %a) }
}
"""


def test_values_come_back_as_they_are() -> None:
    call = direct_call_of(COPY)
    for value in (flat(), deep(), deep(flat(1), deep(flat(2)), flat(3)), deep(deep(deep()))):
        assert_same_value(call((value,), 1), value)


def test_elements_of_all_types() -> None:
    dtypes = ("bool", "int8", "uint16", "float16", "bfloat16", "int32", "float32", "int64")
    types = ", ".join(f"{dtype}, Tensor[(2), {dtype}]" for dtype in dtypes)
    call = direct_call_of(f"def @main(%x: List[({types})]) {{ (%x, %x) }}")
    numpy_dtypes = [np.dtype(dtype) if dtype != "bfloat16" else _bfloat16() for dtype in dtypes]
    value = listed(
        tuple(
            array
            for dtype in numpy_dtypes
            for array in (np.array(1, dtype), np.array([0, 1], dtype))
        )
    )
    found = call((value,), 1)[0]
    for array, expected in zip(found.fields[0], value.fields[0], strict=True):
        assert array.dtype == expected.dtype and array.shape == expected.shape
        assert array.flags.owndata and array.flags.writeable
        assert array.tolist() == expected.tolist()


def _bfloat16() -> np.dtype:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    return np.dtype(ml_dtypes.bfloat16)


def test_more_objects_than_there_is_room_for_at_first() -> None:
    call = direct_call_of(
        RANGE + f"def @main(%n: int32, %a: {ROW}) {{ (%a, @range(%n, Nil, %a), %a + %a) }}"
    )
    count = 9 * FIRST_OBJECTS
    for _ in range(2):
        first, found, second = call((np.array(count, np.int32), row(1)), 1)
        assert first.tolist() == row(1).tolist()
        assert second.tolist() == (row(1) + row(1)).tolist()
        assert [int(item[0]) for item in list_items(found)] == list(range(1, count + 1))
        assert call._results._numbers.size == FIRST_OBJECTS


def test_what_is_shared_is_made_once() -> None:
    call = direct_call_of(
        RANGE + f"def @main(%a: {ROW}) {{ let %x = @range(2, Nil, %a); (%x, (), (%x, %a)) }}"
    )
    for _ in range(2):
        first, nothing, (second, _) = call((row(),), 1)
        assert nothing == () and first is second
        (_, one), (_, other) = list_items(first)
        assert one is other
    del first, second, one
    assert sys.getrefcount(other) == 2


def test_tensors_of_open_sizes() -> None:
    call = direct_call_of(
        "def @main(%z: Tensor[(?, 2), float32], %y: List[int32]) "
        "{ (Cons(%z, Cons(concatenate((%z, %z), axis=0), Nil)), %z, %y, %z * 2f) }"
    )
    for size in (3, 0, 1):
        x = np.arange(2 * size, dtype=np.float32).reshape(size, 2)
        found, same, _, doubled = call((x, listed()), 1)
        first, second = list_items(found)
        assert first.tolist() == same.tolist() == x.tolist() and first.shape == (size, 2)
        assert second.tolist() == [*x.tolist(), *x.tolist()] and second.shape == (2 * size, 2)
        assert doubled.tolist() == (2 * x).tolist()


def test_an_array_is_the_whole_result() -> None:
    call = direct_call_of(f"def @main(%x: Shape[{ROW}]) {{ match? (%x) {{ Flat(%a, _) => %a }} }}")
    assert call((flat(2),), 1).tolist() == row(2).tolist()
    with pytest.raises(RelayError, match="match"):
        call((deep(),), 1)
    assert call((flat(2),), 1).tolist() == row(2).tolist()


def test_cells_inside_of_a_program() -> None:
    program = loaded(
        "def @main(%x: List[int32]) "
        "{ let %cell = ref(%x); ref_write(%cell, Cons(1, ref_read(%cell))); ref_read(%cell) }"
    )
    assert program.first.direct is not None
    for _ in range(3):
        found = program.first.direct((listed(2),), 1)
        assert [int(item) for item in list_items(found)] == [1, 2]


def test_references_take_the_long_way() -> None:
    assert loaded(f"def @main(%x: {ROW}) {{ (ref(%x), Cons(%x, Nil)) }}").first.direct is None


def test_nothing_is_kept_or_lost() -> None:
    call = direct_call_of(COPY)
    value = deep(*map(flat, range(20)))
    counted = (np.dtype("float32"), np.ndarray, ConstructorValue, value.constructor, None)

    def state() -> list[int]:
        gc.collect()
        return [sys.getallocatedblocks(), *map(sys.getrefcount, counted)]

    call((value,), 1)
    before = state()
    for _ in range(300):
        call((value,), 1)
        call((row(),), 1)
    after = state()
    assert all(abs(now - then) < 100 for now, then in zip(after, before, strict=True))
