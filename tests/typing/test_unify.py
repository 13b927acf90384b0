"""Unification of types and of dimensions."""

import pytest

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.ir.dim_arithmetic import add, multiply
from relay_tune.ir.types import (
    BOOL,
    UNIT,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeVar,
    scalar_type,
)
from relay_tune.typing.solver import PendingRelation, Solver
from relay_tune.typing.unify import UnificationError, Unifier
from relay_tune.typing.unify_dims import DimUnifier

INT = scalar_type("int32")
LIST = GlobalTypeVar("List")
N = Symbol("n")


@pytest.fixture
def unifier():
    return Unifier()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda t: t,
        lambda t: TupleType((INT, t)),
        lambda t: RefType(t),
        lambda t: TypeCall(LIST, (t,)),
        lambda t: FuncType((t,), INT),
        lambda t: FuncType((INT,), TupleType((t, t))),
    ],
)
def test_hole_takes_the_type_opposite(unifier, wrap):
    hole = unifier.fresh()
    assert unifier.unify(wrap(hole), wrap(BOOL)) == wrap(BOOL)
    assert unifier.resolve(hole) == BOOL


@pytest.mark.parametrize(
    ("left", "right", "detail"),
    [
        (INT, BOOL, "dtype int32 does not match bool"),
        (TensorType((2,), "bool"), TensorType((2, 3), "bool"), "1 and 2 dimensions"),
        (TensorType((2, 4), "bool"), TensorType((2, 3), "bool"), "dimension 1 is 4 and 3"),
        (TensorType((N,), "bool"), TensorType((3,), "bool"), "dimension 0 is n and 3"),
        (TupleType((INT,)), TupleType(()), "1 and 0 fields"),
        (TypeCall(LIST, (INT,)), TypeCall(LIST, ()), "1 and 0 type arguments"),
        (TypeCall(LIST, ()), GlobalTypeVar("Tree"), "different data types"),
        (FuncType((), INT), FuncType((INT,), INT), "0 and 1 arguments"),
        (INT, TupleType((INT,)), "different kinds"),
        (TypeVar("a"), TypeVar("a"), "different kinds"),
    ],
)
def test_conflict(unifier, left, right, detail):
    with pytest.raises(UnificationError, match=detail):
        unifier.unify(left, right)


def test_bare_data_type_is_its_application_to_nothing(unifier):
    assert unifier.unify(TypeCall(LIST, ()), LIST) in (TypeCall(LIST, ()), LIST)


def test_occurs_check_through_other_holes(unifier):
    first, second = unifier.fresh(), unifier.fresh()
    unifier.unify(first, TupleType((second,)))
    with pytest.raises(UnificationError, match="contain itself"):
        unifier.unify(second, RefType(first))


def test_long_chain_of_equal_holes(unifier):
    chain = [unifier.fresh() for _ in range(5000)]
    for left, right in zip(chain, chain[1:], strict=False):
        unifier.unify(left, right)
    unifier.unify(chain[0], INT)
    assert unifier.resolve(chain[-1]) == INT


def test_unknown_size_absorbs(unifier):
    known, unknown = TensorType((3, N), "bool"), TensorType((UNKNOWN, UNKNOWN), "bool")
    assert unifier.unify(known, unknown) == unknown


def test_polymorphic_functions_equal_up_to_names(unifier):
    a, b = TypeVar("a"), TypeVar("b")
    left, right = FuncType((a,), a, (a,)), FuncType((b,), b, (b,))
    assert unifier.unify(left, right) == left


def test_a_more_general_function_fits_whatever_the_order_of_its_parameters(unifier):
    a, b, c = TypeVar("a"), TypeVar("b"), TypeVar("c")
    wanted = FuncType((a, b), a, (a, b))
    assert unifier.unify(wanted, FuncType((c, b), c, (b, c))) == wanted
    with pytest.raises(UnificationError):
        unifier.unify(wanted, FuncType((c, c), c, (c,)))


def test_a_hole_stands_for_one_instance_of_a_polymorphic_function(unifier):
    a, hole = TypeVar("a"), unifier.fresh()
    unifier.unify(hole, FuncType((a,), a, (a,)))
    unifier.unify(hole, FuncType((INT,), INT))
    with pytest.raises(UnificationError):
        unifier.unify(hole, FuncType((UNIT,), UNIT))


def test_surplus_type_parameters_are_instantiated(unifier):
    a = TypeVar("a")
    hole = unifier.fresh()
    unifier.unify(FuncType((INT,), hole), FuncType((a,), a, (a,)))
    assert unifier.resolve(hole) == INT


def test_a_function_for_one_type_is_not_a_polymorphic_one(unifier):
    a = TypeVar("a")
    with pytest.raises(UnificationError, match="at one type only"):
        unifier.unify(FuncType((a,), a, (a,)), FuncType((INT,), INT))


def test_symbol_bound_through_a_polynomial():
    dims = DimUnifier()
    n = dims.fresh("n")
    assert dims.unify(add(multiply(n, 2), 1), 7) is not None
    assert dims.settle() is None
    assert dims.resolve(n) == 3


def test_polynomial_equation_checked_once_its_symbol_is_bound():
    dims = DimUnifier()
    n = dims.fresh("n")
    dims.unify(multiply(n, 2), 8)
    dims.unify(n, 3)
    assert dims.settle() == (6, 8)


def test_polynomial_equation_without_integer_solution():
    dims = DimUnifier()
    dims.unify(multiply(dims.fresh("n"), 2), 7)
    assert dims.settle() is not None


def test_symbol_that_nothing_binds_ends_unknown():
    dims = DimUnifier()
    assert dims.settled_shape((dims.fresh("n"), 4)) == (UNKNOWN, 4)


def test_relation_runs_when_its_input_becomes_known():
    solver = Solver()
    given, output = solver.fresh(), solver.fresh()
    solver.add(
        PendingRelation(
            lambda types: None if isinstance(types[0], IncompleteType) else RefType(types[0]),
            (given,),
            output,
            None,
        )
    )
    assert solver.unsolved()
    other = solver.fresh()
    solver.unify(given, other)
    solver.solve()
    assert isinstance(solver.resolve(output), IncompleteType)
    solver.unify(other, INT)
    solver.solve()
    assert solver.resolve(output) == RefType(INT)
    assert not solver.unsolved()
