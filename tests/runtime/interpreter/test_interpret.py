"""The interpreter on programs built by hand, with two operators of its own."""

from typing import Any

import numpy as np
import pytest

from relay_tune.errors import InputError, RelayError
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.dim import Symbol
from relay_tune.ir.expr import (
    Call,
    Clause,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TuplePattern,
    Var,
    VarPattern,
    WildcardPattern,
    constant,
)
from relay_tune.ir.module import Module
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.types import GlobalTypeVar, TensorType, TupleType
from relay_tune.runtime.interpreter.interpret import evaluate, interpret
from relay_tune.runtime.interpreter.values import ConstructorValue


def operator(name: str, reference: Any) -> Operator:
    return Operator(
        name=name,
        arguments=("left", "right"),
        relation=lambda inputs, attributes, context: inputs[0],
        kind=FusionKind.BROADCAST,
        reference=lambda attributes, *arrays: reference(*arrays),
    )


ADD = operator("test.add", np.add)
LESS = operator("test.less", np.less)
ONE = constant(1)
SCALAR = TensorType((), "int32")
LIST = GlobalTypeVar("List")
CONS = Constructor("Cons", (), LIST, 0)
NIL = Constructor("Nil", (), LIST, 1)


def add(left: Expr, right: Expr) -> Call:
    return Call(ADD, (left, right))


def less(left: Expr, right: Expr) -> Call:
    return Call(LESS, (left, right))


def count_down(last_step: Any) -> Module:
    """@main(n) { if (0 < n) { last_step(@main(n - 1)) } else { 0 } }."""
    n = Var("n", SCALAR)
    again = Call(GlobalVar("main"), (add(n, constant(-1)),))
    return Module.from_function(
        Function((n,), If(less(constant(0), n), last_step(again), constant(0)))
    )


def test_operator_call_on_inputs_by_position_and_name() -> None:
    x, y = Var("x", SCALAR), Var("y", SCALAR)
    module = Module.from_function(Function((x, y), add(x, y)))
    assert interpret(module, np.int32(2), y=np.int32(3)) == 5


def test_tuples() -> None:
    x = Var("x", TupleType((SCALAR, SCALAR)))
    swapped = Tuple((TupleGetItem(x, 1), TupleGetItem(x, 0)))
    assert interpret(Module.from_function(Function((x,), swapped)), (1, 2)) == (2, 1)


def test_chain_of_thirty_thousand_calls() -> None:
    expr: Expr = constant(0)
    for _ in range(30_000):
        expr = add(expr, ONE)
    assert evaluate(expr) == 30_000


def test_chain_of_thirty_thousand_lets() -> None:
    variables = [Var(f"x{i}") for i in range(30_000)]
    body: Expr = variables[-1]
    for previous, var in zip(reversed(variables[:-1]), reversed(variables[1:]), strict=True):
        body = Let(var, add(previous, ONE), body)
    assert evaluate(Let(variables[0], ONE, body)) == 30_000


def test_tail_recursion_needs_no_space() -> None:
    assert interpret(count_down(lambda again: again), 15_000) == 0


def test_deep_recursion_that_is_no_tail_call() -> None:
    assert interpret(count_down(lambda again: add(again, ONE)), 20_000) == 20_000


def test_endless_recursion_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relay_tune.runtime.interpreter.interpret.MAXIMUM_PENDING_TASKS", 10_000)
    n = Var("n")
    endless = Function((n,), add(Call(GlobalVar("main"), (n,)), ONE))
    with pytest.raises(RelayError, match="recurses too deeply"):
        interpret(Module.from_function(endless), 1)


def test_only_the_taken_branch_is_evaluated() -> None:
    unbound = Var("unbound")
    assert evaluate(If(constant(True), ONE, unbound)) == 1
    assert evaluate(If(constant(False), unbound, ONE)) == 1


def test_closure_keeps_the_activation_it_was_made_in() -> None:
    x, y, make = Var("x"), Var("y"), Var("make")
    maker = Function((x,), Function((y,), add(x, y)))
    ten, twenty = Call(make, (constant(10),)), Call(make, (constant(20),))
    body = Tuple((Call(ten, (ONE,)), Call(twenty, (ONE,))))
    assert evaluate(Let(make, maker, body)) == (11, 21)


def test_local_recursive_function() -> None:
    f, n = Var("f"), Var("n")
    recursive = Function(
        (n,), If(less(constant(0), n), add(n, Call(f, (add(n, constant(-1)),))), constant(0))
    )
    assert evaluate(Let(f, recursive, Call(f, (constant(4),)))) == 10


def test_shared_node_is_evaluated_once() -> None:
    shared = RefCreate(constant(1))
    write, unit = RefWrite(shared, constant(7)), Var("unit")
    assert evaluate(Let(unit, write, RefRead(shared))) == 7


def test_reference_write_has_unit_value() -> None:
    cell = RefCreate(ONE)
    assert evaluate(RefWrite(cell, constant(2))) == ()


def test_match_binds_nested_patterns() -> None:
    head, tail = Var("head"), Var("tail")
    value = Call(CONS, (Tuple((constant(3), constant(4))), Call(NIL, ())))
    pattern = ConstructorPattern(
        CONS, (TuplePattern((VarPattern(head), WildcardPattern())), VarPattern(tail))
    )
    clauses = (
        Clause(ConstructorPattern(NIL, ()), constant(0)),
        Clause(pattern, Tuple((head, tail))),
    )
    first, rest = evaluate(Match(value, clauses))  # type: ignore[misc]
    assert first == 3
    assert isinstance(rest, ConstructorValue)
    assert rest.constructor is NIL


def test_match_without_a_fitting_clause_is_an_error() -> None:
    clauses = (Clause(ConstructorPattern(CONS, ()), ONE),)
    with pytest.raises(RelayError, match="No clause"):
        evaluate(Match(Call(NIL, ()), clauses, complete=False))


def test_operator_and_constructor_as_values() -> None:
    f, x = Var("f"), Var("x")
    twice = Function((f, x), Call(f, (x, x)))
    assert evaluate(Call(twice, (ADD, constant(4)))) == 8
    assert isinstance(evaluate(Call(twice, (CONS, ONE))), ConstructorValue)


def test_inputs_as_one_mapping() -> None:
    x, y = Var("x"), Var("y")
    pair = Module.from_function(Function((x, y), Tuple((x, y))))
    assert interpret(pair, {"y": 2, "x": 1}) == (1, 2)


@pytest.mark.parametrize(
    ("inputs", "named", "message"),
    [
        (({},), {}, "No value was given for: x"),
        ((), {}, "No value was given for: x"),
        ((1, 2), {}, "2 inputs were given"),
        ((1,), {"x": 2}, "given twice"),
        ((), {"y": 1}, "no input 'y'"),
        ((np.zeros((2, 3), "float32"),), {}, r"must be Tensor\[\(n, n\), float32\]"),
        ((np.zeros((2, 2), "float64"),), {}, r'astype\("float32"\)'),
        ((np.zeros((2,), "float32"),), {}, "but Tensor"),
    ],
)
def test_inputs_that_do_not_fit(inputs: Any, named: Any, message: str) -> None:
    n = Symbol("n")
    x = Var("x", TensorType((n, n), "float32"))
    with pytest.raises(InputError, match=message):
        interpret(Module.from_function(Function((x,), x)), *inputs, **named)


def test_unknown_function_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no function @other"):
        interpret(Module.from_function(Function((), ONE)), function="other")


def test_a_node_that_the_enclosing_function_evaluated_is_not_evaluated_again() -> None:
    cell, f, unit = RefCreate(constant(1)), Var("f"), Var("unit")
    reader = Function((), RefRead(cell))
    body = Let(unit, RefWrite(cell, constant(7)), Call(f, ()))
    assert evaluate(Let(f, reader, body)) == 7


def test_long_lists() -> None:
    n, rest = Var("n", SCALAR), Var("rest")
    longer = Call(CONS, (n, rest))
    again = Call(GlobalVar("main"), (add(n, constant(-1)), longer))
    body = If(less(constant(0), n), again, rest)
    module = Module.from_function(Function((n, rest), body))
    value = interpret(module, 15_000, ConstructorValue(NIL, ()))
    count = 0
    while isinstance(value, ConstructorValue) and value.fields:
        count, value = count + 1, value.fields[1]
    assert count == 15_000


def test_the_debugging_hook_sees_intermediate_values() -> None:
    x, doubled, head = Var("x", SCALAR), Var("doubled"), Var("head")
    clause = Clause(ConstructorPattern(CONS, (VarPattern(head), WildcardPattern())), add(head, x))
    body = Let(
        doubled, add(x, x), Match(Call(CONS, (doubled, Call(NIL, ()))), (clause,), complete=False)
    )
    seen: list[tuple[str, Any]] = []

    def on_value(expr: Expr, value: Any) -> None:
        if isinstance(expr, Var) or (isinstance(expr, Call) and expr.callee is ADD):
            seen.append((repr(expr), int(value)))

    assert interpret(Module.from_function(Function((x,), body)), 3, on_value=on_value) == 9
    assert seen == [("<Call>", 6), ("%doubled", 6), ("%head", 6), ("<Call>", 9)]


def test_errors_of_evaluation_show_the_source() -> None:
    module = parse("def @main(%x) {\n  reshape(%x, newshape=[3])\n}")
    with pytest.raises(RelayError) as caught:
        interpret(module, 1)
    assert "2 |   reshape(%x, newshape=[3])\n" in str(caught.value)
    assert "Operator reshape cannot be applied" in str(caught.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", ["nn.log_softmax(%x)", "nn.layer_norm(%x, %g, %g)"])
def test_values_that_are_not_finite_are_no_warnings(text: str) -> None:
    module = parse(f"def @main(%x: Tensor[(2, 3), float32], %g: Tensor[(3), float32]) {{ {text} }}")
    data = np.full((2, 3), -np.inf, "float32")
    assert np.isnan(interpret(module, data, np.ones(3, "float32"))).all()
