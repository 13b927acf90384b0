"""Whatever is changed about a type is seen by the comparison; names of parameters are not."""

from itertools import combinations

from relay_tune.ir.structural import structural_equal, structural_hash
from relay_tune.ir.types import (
    UNIT,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)

A, B, S = TypeVar("A"), TypeVar("A"), TypeVar("A", Kind.SHAPE)
SMALL, LARGE = TensorType((1, 2), "float32"), TensorType((1, 2, 3), "float32")
SCALAR = TensorType((), "float32")
LIST, TREE = GlobalTypeVar("List"), GlobalTypeVar("Tree")

TYPES = [
    SCALAR,
    TensorType((), "float64"),
    SMALL,
    LARGE,
    UNIT,
    TupleType((SMALL,)),
    TupleType((SMALL, LARGE, A)),
    TupleType((LARGE, SMALL, A)),
    TupleType((SMALL, LARGE, B)),
    FuncType((SMALL, LARGE), A, (A,)),
    FuncType((SMALL,), A, (A,)),
    FuncType((LARGE, SMALL), A, (A,)),
    FuncType((SMALL, LARGE), S, (S,)),
    FuncType((SMALL, LARGE), A, (A, B)),
    FuncType((SMALL, LARGE), B, (A, B)),
    FuncType((SMALL, LARGE), A),
    FuncType((SMALL, LARGE), SMALL),
    TypeCall(LIST, (SMALL, LARGE)),
    TypeCall(TREE, (SMALL, LARGE)),
    TypeCall(LIST, (LARGE, SMALL)),
    TypeCall(LIST, (SMALL,)),
    TypeCall(LIST, (SMALL, LARGE, SCALAR)),
    LIST,
    TREE,
    RefType(SMALL),
    RefType(LARGE),
    A,
    B,
    S,
]


def test_types_that_differ_in_one_thing() -> None:
    for type_ in TYPES:
        assert structural_equal(type_, type_)
    for left, right in combinations(TYPES, 2):
        assert left != right
        assert not structural_equal(left, right)


def test_a_hole_is_itself_but_programs_with_holes_in_the_same_places_are_equal() -> None:
    one, two = IncompleteType(), IncompleteType()
    assert one == one
    assert one != two
    assert structural_equal(TupleType((one, SMALL)), TupleType((two, SMALL)))
    assert not structural_equal(TupleType((one, SMALL)), TupleType((SMALL, one)))


def test_parameters_of_a_function_type_are_what_stands_in_their_place() -> None:
    pairs: list[tuple[Type, Type]] = [
        (FuncType((A,), A, (A,)), FuncType((B,), B, (B,))),
        (FuncType((A,), B, (A, B)), FuncType((B,), A, (B, A))),
    ]
    for left, right in pairs:
        assert structural_equal(left, right)
        assert structural_hash(left) == structural_hash(right)
