"""Values of every kind go into a native program and come back."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import InputError
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.data_values import data_value, list_items
from relay_tune.runtime.interpreter.values import ConstructorValue, ReferenceCell, Value
from relay_tune.runtime.model import Model
from tests.properties.programs.compare import assert_same_value

TYPES = """
type List[A] { Cons(A, List[A]), Nil, }
type Tree[A] { Leaf(A), Node(Tree[A], A, Tree[A]), Unit(()), }
"""


def identity(type_: str) -> Model:
    model = build(parse(f"{TYPES}def @main(%x: {type_}) {{ %x }}"), threads=1)
    assert isinstance(model, Model)
    return model


def make(constructor: str, *fields: object) -> ConstructorValue:
    return data_value(parse(TYPES), constructor, *fields)


def listed(*items: object) -> ConstructorValue:
    result = make("Nil")
    for item in reversed(items):
        result = make("Cons", item, result)
    return result


def vector(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "bfloat16", "float64"])
def test_scalars_keep_their_bits(dtype: str) -> None:
    value = listed(*(np.array(number, DTYPES[dtype]) for number in (0, 1, 1, 0, 7)))
    assert_same_value(identity(f"List[{dtype}]")(value), value)


def test_a_list_that_is_longer_than_the_first_room() -> None:
    value = identity("List[int32]")(listed(*range(3000)))
    assert [int(item) for item in list_items(value)] == list(range(3000))  # type: ignore[call-overload]


def test_fields_may_stand_before_and_after_a_part_of_the_same_type() -> None:
    small = make("Node", make("Leaf", vector(1, 2)), vector(3, 4), make("Unit", ()))
    value = make("Node", small, vector(5, 6), make("Node", small, vector(7, 8), small))
    assert_same_value(identity("Tree[Tensor[(2), float32]]")(value), value)


def test_tuples_inside_of_data_types() -> None:
    pairs = [((vector(n), np.int64(n)), (), make("Leaf", vector(-n))) for n in range(3)]
    value = listed(*((*pair[:2], pair[2]) for pair in pairs))
    type_ = "List[((Tensor[(1), float32], int64), (), Tree[Tensor[(1), float32]])]"
    assert_same_value(identity(type_)(value), value)


def test_what_is_shared_comes_back_shared() -> None:
    text = """
def @main(%x: Tensor[(2), float32]) {
  let %leaf = Leaf(%x);
  (Node(%leaf, %x, %leaf), %leaf)
}
"""
    model = build(parse(TYPES + text), threads=1)
    node, leaf = model(vector(1, 2))  # type: ignore[misc]  # a tuple
    assert isinstance(node, ConstructorValue)
    assert node.fields[0] is node.fields[2] is leaf
    assert node.fields[1] is leaf.fields[0]


def test_a_cell_in_two_places_and_one_that_holds_itself() -> None:
    text = """
type Link { End, Next(ref(Link)), }
def @main() {
  let %cell = ref(End);
  ref_write(%cell, Next(%cell));
  (%cell, Next(%cell))
}
"""
    model = build(parse(text), threads=1)
    for _ in range(2):
        cell, link = model()  # type: ignore[misc]  # a tuple
        assert isinstance(cell, ReferenceCell)
        assert link.fields[0] is cell
        assert cell.value.fields[0] is cell  # type: ignore[union-attr]


def test_cells_in_two_places_and_ones_that_hold_themselves_are_refused() -> None:
    types = "type Link { End, Next(ref(Link)), }\n"
    text = "def @main(%a: (ref(Link), ref(Link))) { match (ref_read(%a.0)) { End => 0, _ => 1 } }"
    module = parse(types + text)
    model = build(module, threads=1)
    end = data_value(module, "End")
    assert model((ReferenceCell(end), ReferenceCell(end))) == 0
    shared = ReferenceCell(end)
    cyclic = ReferenceCell(end)
    cyclic.value = data_value(module, "Next", cyclic)
    for cells in ((shared, shared), (shared, cyclic)):
        with pytest.raises(InputError, match="one cell in several places, or inside of itself"):
            model(cells)


def test_arrays_of_any_layout_are_taken() -> None:
    rows = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    columns = np.asfortranarray(rows)
    strided = np.arange(12.0, dtype=np.float32).reshape(2, 6)[:, ::2]
    model = identity("List[Tensor[(2, 3), float32]]")
    for value in (listed(rows, columns, strided), listed(columns, columns)):
        assert_same_value(model(value), value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (make("Leaf", vector(1, 2)), "a ConstructorValue: Cons, Nil"),
        (3, "a ConstructorValue: Cons, Nil"),
        (ConstructorValue(make("Nil").constructor, (vector(1),)), "0 fields"),
        (listed(vector(1, 2), vector(1)), "was given"),
        (listed(np.zeros(2)), "float64"),
        (listed(vector(1, 2), (1, 2, 3)), "was given"),
    ],
)
def test_what_does_not_fit_is_refused(value: Value, message: str) -> None:
    model = identity("List[Tensor[(2), float32]]")
    with pytest.raises(InputError, match=message):
        model(value)
    good = listed(vector(1, 2))
    assert_same_value(model(good), good)
