"""Kinds of types."""

import pytest

from relay_tune.errors import TypeInferenceError
from relay_tune.ir.module import Module
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import (
    FuncType,
    GlobalTypeVar,
    Kind,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeVar,
    scalar_type,
)
from relay_tune.typing.kind_check import check_kind

INT = scalar_type("int32")
A = TypeVar("a")
SHAPE = TypeVar("s", Kind.SHAPE)
LIST = GlobalTypeVar("List")
NAT = GlobalTypeVar("Nat")
MODULE = Module({}, {"List": TypeData(LIST, (A,), ()), "Nat": TypeData(NAT, (), ())})


@pytest.mark.parametrize(
    "type_",
    [
        TensorType((2, 3), "bool"),
        TupleType((INT, A)),
        FuncType((A, INT), RefType(A), (A,)),
        TypeCall(LIST, (TypeCall(LIST, (INT,)),)),
        TupleType((NAT, TypeCall(NAT, ()))),
    ],
)
def test_types_of_values(type_):
    assert check_kind(type_, MODULE) is Kind.TYPE


def test_kind_of_variables():
    assert check_kind(SHAPE) is Kind.SHAPE
    assert check_kind(NAT, MODULE) is Kind.ADT_HANDLE


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (TupleType((SHAPE,)), "s .* is of kind Shape"),
        (RefType(SHAPE), "is of kind Shape"),
        (FuncType((SHAPE,), INT), "is of kind Shape"),
        (FuncType((INT,), TupleType((SHAPE,))), "is of kind Shape"),
        (TypeCall(LIST, (SHAPE,)), "is of kind Shape"),
        (TupleType((FuncType((INT,), SHAPE),)), "is of kind Shape"),
        (TupleType((FuncType((TupleType((SHAPE,)),), INT),)), "is of kind Shape"),
        (TypeCall(A, (INT,)), "a .* is not a data type"),
        (TypeCall(INT, ()), "int32 .* is not a data type"),
        (TypeCall(LIST, (INT, INT)), "has 2 type argument"),
        (TupleType((LIST,)), "has 0 type argument"),
        (TypeCall(GlobalTypeVar("Tree"), ()), "Tree is not defined"),
        (FuncType((A,), A, (A, A)), "bound twice"),
    ],
)
def test_wrong_kinds(type_, message):
    with pytest.raises(TypeInferenceError, match=message):
        check_kind(type_, MODULE)
