"""Values that native code reads in Python's memory."""

import gc
import sys

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.codegen.programs.build_text import FIRST_LEAF
from relay_tune.ir.expr import Constructor
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import GlobalTypeVar
from relay_tune.runtime import direct_description
from relay_tune.runtime.data_values import data_value, list_items
from relay_tune.runtime.direct_description import FIRST_PARTS, DirectDescription, can_describe
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.program_model import ProgramModel
from tests.properties.programs.compare import assert_same_value

pytestmark = pytest.mark.skipif(
    not direct_description._knows_python(), reason="needs CPython's objects"
)

TYPES = """
type List[A] { Cons(A, List[A]), Nil, }
type Shape[A] { Flat(A, (A, int64)), Deep(List[Shape[A]]), }
"""
ROW = "Tensor[(1, 3), float32]"


def loaded(type_: str) -> LoadedProgram:
    model = build(parse(f"{TYPES}def @main(%x: {type_}) {{ %x }}"), threads=1)
    assert isinstance(model, ProgramModel)
    assert model._general is not None
    return model._general.loaded


@pytest.fixture(scope="module")
def program() -> LoadedProgram:
    return loaded(f"Shape[{ROW}]")


@pytest.fixture
def described(program: LoadedProgram) -> DirectDescription:
    return DirectDescription(program.inputs["x"], program._writer._program)


def make(constructor: str, *fields: object) -> ConstructorValue:
    return data_value(parse(TYPES), constructor, *fields)


def row(first: float = 0) -> np.ndarray:
    return np.arange(first, first + 3, dtype=np.float32).reshape(1, 3)


def flat(first: float = 0) -> ConstructorValue:
    return make("Flat", row(first), (row(-first), np.array(7)))


def deep(*parts: ConstructorValue) -> ConstructorValue:
    listed = make("Nil")
    for part in reversed(parts):
        listed = make("Cons", part, listed)
    return make("Deep", listed)


def test_values_arrive_as_they_are(program: LoadedProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program._writer, "_described_in_python", None)  # would raise
    for value in (flat(), deep(), deep(flat(1), deep(flat(2)), flat(3)), deep(deep(deep()))):
        assert_same_value(program(value), value)


def test_more_parts_and_bytes_than_there_is_room_for_at_first(
    program: LoadedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program._writer, "_described_in_python", None)
    value = deep(*map(flat, range(5 * FIRST_PARTS)))
    for _ in range(2):
        found = program(value)
        assert isinstance(found, ConstructorValue)
        pairs = zip(list_items(found.fields[0]), list_items(value.fields[0]), strict=True)
        for part, expected in pairs:
            assert_same_value(part, expected)
    assert_same_value(program(flat()), flat())


def test_much_room_is_given_back(
    described: DirectDescription, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_description, "KEPT_BYTES", direct_description.FIRST_BYTES)
    assert described.describe(deep(*map(flat, range(20 * FIRST_PARTS)))) is not None
    described.forget()
    assert described._codes.size == FIRST_PARTS


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
def test_what_is_not_exactly_as_wanted_is_refused(
    described: DirectDescription, value: object
) -> None:
    assert described.describe(value) is None
    assert described.describe(flat()) is not None


def test_the_codes_of_parts_stand_in_order(
    program: LoadedProgram, described: DirectDescription
) -> None:
    assert described.describe(deep(flat())) is not None
    types = program._writer._program.data_types
    number = {m.constructor.name: m.layout.number for made in types.values() for m in made}
    row_leaf, scalar_leaf = FIRST_LEAF, FIRST_LEAF + 1
    flat_codes = [number["Flat"], row_leaf, row_leaf, scalar_leaf]
    expected = [number["Deep"], number["Cons"], *flat_codes, number["Nil"]]
    assert described._codes[: len(expected)].tolist() == expected


def test_constructors_are_kept_while_they_are_known(program: LoadedProgram) -> None:
    description = DirectDescription(program.inputs["x"], program._writer._program)
    first, second = flat(), flat()
    assert first.constructor is not second.constructor
    before = [sys.getrefcount(first.constructor), sys.getrefcount(second.constructor)]
    for value in (first, second, first, second):
        assert description.describe(value) is not None
    kept = [sys.getrefcount(first.constructor), sys.getrefcount(second.constructor)]
    assert kept == [before[0], before[1] + 1]
    del description
    gc.collect()
    assert sys.getrefcount(second.constructor) == before[1]


def test_references_and_open_sizes_take_the_long_way() -> None:
    for type_ in (f"List[ref({ROW})]", "List[Tensor[(?, 3), float32]]"):
        other = loaded(type_)
        assert not can_describe(other.inputs["x"], other._writer._program)
