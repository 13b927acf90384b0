from relay_tune.ir.expr import Call, Function, If, Tuple, Var
from relay_tune.ir.types import BOOL, TensorType
from relay_tune.op.math import exp
from relay_tune.program.scopes import hoisted_nodes

SCALAR = TensorType((), "float32")


def test_what_both_branches_use_is_computed_before() -> None:
    c, x = Var("c", BOOL), Var("x", SCALAR)
    shared = exp(x)
    alone = exp(shared)
    choice = If(c, alone, shared)
    assert hoisted_nodes(choice) == {choice: (shared,)}


def test_what_one_branch_uses_stays_in_it() -> None:
    c, d, x = Var("c", BOOL), Var("d", BOOL), Var("x", SCALAR)
    shared = exp(x)
    inner = If(d, shared, exp(shared))
    outer = If(c, inner, x)
    assert hoisted_nodes(outer) == {inner: (shared,)}


def test_order_of_evaluation_is_kept() -> None:
    c, x = Var("c", BOOL), Var("x", SCALAR)
    first = exp(x)
    second = exp(first)
    choice = If(c, Tuple((second, first)), Tuple((first, second)))
    assert hoisted_nodes(choice)[choice] == (first, second)


def test_functions_are_not_looked_into() -> None:
    c, x, y = Var("c", BOOL), Var("x", SCALAR), Var("y", SCALAR)
    shared = exp(x)
    inner = Function((y,), Call(exp, (shared,)))
    choice = If(c, inner, Function((y,), shared))
    assert hoisted_nodes(choice) == {}
