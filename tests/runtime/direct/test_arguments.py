"""Arguments that native code reads in Python's memory."""

import gc
import sys

import numpy as np
import pytest

from relay_tune.codegen.direct.words import Call
from relay_tune.codegen.programs.build_values import FIRST_LEAF
from relay_tune.ir.expr import Constructor
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import GlobalTypeVar
from relay_tune.runtime.data_values import data_value
from relay_tune.runtime.direct import arguments
from relay_tune.runtime.direct.arguments import FIRST_PARTS
from relay_tune.runtime.direct.call import DirectCall
from relay_tune.runtime.direct.python_memory import can_call_directly
from relay_tune.runtime.interpreter.values import ConstructorValue
from tests.runtime.direct.values import (
    ROW,
    TYPES,
    deep,
    direct_call_of,
    flat,
    listed,
    loaded,
    make,
    row,
)

pytestmark = pytest.mark.skipif(not can_call_directly(), reason="needs CPython's objects")

COUNT = """
def @count(%x: Shape[Tensor[(1, 3), float32]]) -> int32 {
  match (%x) { Flat(_, _) => 1, Deep(%parts) => 1 + @count_all(%parts), }
}
def @count_all(%x: List[Shape[Tensor[(1, 3), float32]]]) -> int32 {
  match (%x) { Nil => 0, Cons(%part, %parts) => @count(%part) + @count_all(%parts), }
}
def @main(%x: Shape[Tensor[(1, 3), float32]]) { @count(%x) }
"""


@pytest.fixture(scope="module")
def count() -> DirectCall:
    return direct_call_of(COUNT)


def test_values_of_data_types(count: DirectCall) -> None:
    assert count((flat(),), 1) == 1
    assert count((deep(),), 1) == 1
    assert count((deep(flat(1), deep(flat(2)), flat(3)),), 1) == 5
    assert count((deep(deep(deep())),), 1) == 3


def test_more_parts_and_bytes_than_there_is_room_for_at_first(count: DirectCall) -> None:
    value = deep(*map(flat, range(20 * FIRST_PARTS)))
    for _ in range(2):
        assert count((value,), 1) == 20 * FIRST_PARTS + 1
    assert count((flat(),), 1) == 1


def test_much_room_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "KEPT_BYTES", arguments.FIRST_BYTES)
    call = direct_call_of(COUNT)
    assert call((deep(*map(flat, range(20 * FIRST_PARTS))),), 1) is not None
    assert call._arguments._codes.size == FIRST_PARTS
    assert call._words[Call.CODE_ROOM] == FIRST_PARTS


def unset() -> ConstructorValue:
    return object.__new__(ConstructorValue)


@pytest.mark.parametrize(
    "value",
    [
        3,
        row(),
        unset(),
        make("Nil"),
        deep(unset()),
        make("Flat", row().astype(np.float64), (row(), np.array(7))),
        make("Flat", np.zeros((1, 4), np.float32), (row(), np.array(7))),
        make("Flat", np.zeros((3,), np.float32), (row(), np.array(7))),
        make("Flat", np.zeros((1, 6), np.float32)[:, ::2], (row(), np.array(7))),
        make("Flat", row().tolist(), (row(), np.array(7))),
        make("Flat", row(), (row(), 7)),
        make("Flat", row(), [row(), np.array(7)]),
        make("Flat", row(), (row(),)),
        ConstructorValue(make("Nil").constructor, (row(),)),
        ConstructorValue(flat().constructor, (row(),)),
        ConstructorValue(flat().constructor, [*flat().fields]),  # type: ignore[arg-type]
        ConstructorValue(Constructor("Round", (), GlobalTypeVar("Shape"), 2), ()),
        ConstructorValue("Flat", flat().fields),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_exactly_as_wanted_is_refused(count: DirectCall, value: object) -> None:
    assert count((value,), 1) is None
    assert count((flat(),), 1) == 1


def test_the_codes_of_parts_stand_in_order() -> None:
    program = loaded(COUNT)
    call = program.first.direct
    assert call is not None
    assert call((deep(flat()),), 1) is not None
    types = program.first._writer._program.data_types
    number = {m.constructor.name: m.layout.number for made in types.values() for m in made}
    row_leaf, scalar_leaf = FIRST_LEAF, FIRST_LEAF + 1
    flat_codes = [number["Flat"], row_leaf, row_leaf, scalar_leaf]
    expected = [number["Deep"], number["Cons"], *flat_codes, number["Nil"]]
    assert call._arguments._codes[: len(expected)].tolist() == expected


def test_constructors_are_kept_while_they_are_known() -> None:
    call = direct_call_of(COUNT)
    first, second = deep(), data_value(parse(TYPES), "Deep", listed())
    assert first.constructor is not second.constructor
    before = [sys.getrefcount(first.constructor), sys.getrefcount(second.constructor)]
    for value in (first, second, first, second):
        assert call((value,), 1) is not None
    kept = [sys.getrefcount(first.constructor), sys.getrefcount(second.constructor)]
    assert kept == [before[0], before[1] + 1]
    del call
    gc.collect()
    assert sys.getrefcount(second.constructor) == before[1]


def test_several_values_arrays_and_tuples() -> None:
    call = direct_call_of(
        "def @main(%a: List[int32], %b: (Tensor[(2), float32], (List[int32], float32)), "
        "%c: List[float32]) { (%c, %b.1.0, %a, %b.0, %b.1.1) }"
    )
    a, b, c = listed(1, 2), listed(), listed(0.5)
    array = np.array([3, 4], np.float32)
    found = call((a, (array, (b, np.array(9, np.float32))), c), 1)
    assert found[0].fields[0] == 0.5
    assert found[1].constructor.name == "Nil"
    assert found[2].fields[0] == 1 and found[2].fields[1].fields[0] == 2
    assert found[3].tolist() == [3, 4] and found[4] == 9
    assert call((a, [array, (b, np.array(9, np.float32))], c), 1) is None
    assert call((a, (array, (b, np.array(9, np.float32)), 1), c), 1) is None
    assert call((a, (array, (b, 9.0)), c), 1) is None


def test_sizes_of_a_symbol_are_equal_and_each_unknown_size_is_its_own() -> None:
    call = direct_call_of(
        "def @main(%a: Tensor[(n, 2), float32], %b: Tensor[(?, n), float32], "
        "%c: Tensor[(?, ?), float32], %d: List[int32]) "
        "{ (shape_of(%a), shape_of(%b), shape_of(%c)) }"
    )

    def arrays(*shapes: tuple[int, ...]) -> tuple[object, ...]:
        return *(np.ones(shape, np.float32) for shape in shapes), listed()

    for shapes in (((3, 2), (1, 3), (4, 5)), ((0, 2), (7, 0), (5, 5)), ((1, 2), (9, 1), (0, 1))):
        assert [tuple(shape) for shape in call(arrays(*shapes), 1)] == list(shapes)
    for wrong in (((3, 2), (1, 4), (4, 5)), ((3, 3), (1, 3), (4, 5)), ((3, 2), (1, 3), (4,))):
        assert call(arrays(*wrong), 1) is None


@pytest.mark.parametrize(
    "type_",
    [
        f"List[ref({ROW})]",
        "List[Tensor[(?, 3), float32]]",
        "(Tensor[(n), float32], Tensor[(2 * n), float32])",
    ],
)
def test_references_open_parts_and_arithmetic_take_the_long_way(type_: str) -> None:
    assert loaded(f"def @main(%x: {type_}, %y: List[int32]) {{ (%x, %y) }}").first.direct is None
