from dataclasses import replace

import numpy as np
import pytest

from relay_tune.errors import Span
from relay_tune.ir.expr import Call, Constant, Expr, Function, Let, Tuple, Var, constant
from relay_tune.ir.parser.parse import parse, parse_expr
from relay_tune.ir.structural import first_difference, structural_equal, structural_hash
from relay_tune.ir.types import FuncType, TensorType, TypeVar
from tests.properties.toy_operators import ADD, NEGATE, POOL, ToyAttributes

TYPES = "type T { A, B(int8) }\ntype U { C }\n"

EQUAL = [
    ("fn (%x) { %x }", "fn (%y) { %y }"),
    ("fn [A](%x: A) -> A { %x }", "fn [B](%x: B) -> B { %x }"),
    ("fn (%x: fn [A](A) -> A) { 1 }", "fn (%x: fn [B](B) -> B) { 1 }"),
    ("let %x = 1; let %x = 2; %x", "let %a = 1; let %b = 2; %b"),
    ("%0 = test.negate(1); (%0, %0)", "(test.negate(1), test.negate(1))"),
    ("%0 = fn (%x) { %x }; (%0, %0)", "(fn (%a) { %a }, fn (%b) { %b })"),
    ("test.pool(1)", "test.pool(1, axis=-1)"),
    ("fn (P=1, Q=2) { 1 }", "fn (Q=2, P=1) { 1 }"),
    ("match (A) { B(%x) => %x, _ => 1i8 }", "match (A) { B(%y) => %y, _ => 1i8 }"),
    ("test.negate[int8](1)", "test.negate(1)"),
]

DIFFERENT = [
    ("fn (%x, %y) { %x }", "fn (%x, %y) { %y }", "body: variable: %x and %y"),
    ("fn (%x) { fn (%y) { %x } }", "fn (%x) { fn (%y) { %y } }", "body.body: variable"),
    ("fn (%x: int8) { 1 }", "fn (%x) { 1 }", "parameters: ('int8',) and ('none',)"),
    ("fn [A, B](%x: A) { 1 }", "fn [A, B](%x: B) { 1 }", "parameters"),
    ("fn [A](%x: A) { 1 }", "fn [A: Shape](%x: A) { 1 }", "type parameters"),
    ("fn () -> int8 { 1 }", "fn () -> int16 { 1 }", "result type: int8 and int16"),
    ("fn (P=1) { 1 }", "fn (P=True) { 1 }", "attributes"),
    ("1", "1i64", "dtype: int32 and int64"),
    ("0f", "-0f", "bits"),
    ("(1, 2)", "(1, 2, 3)", "number of fields: 2 and 3"),
    ("(1, 2).0", "(1, 2).1", "index: 0 and 1"),
    ("test.pool(1)", "test.pool(1, epsilon=2)", "attributes"),
    ("(1, test.negate(2))", "(1, test.negate(3))", "fields[1].arguments[0]: bits"),
    ("@f(1)", "@g(1)", "callee: name: @f and @g"),
    ("@f[int8](1)", "@f[int16](1)", "type arguments"),
    ("let %x: int8 = 1; %x", "let %x = 1; %x", "type of the variable"),
    ("match (A) { _ => 1 }", "match? (A) { _ => 1 }", "complete"),
    ("match (A) { A => 1 }", "match (A) { B(_) => 1 }", "patterns"),
    ("constructor(A)", "constructor(C)", "constructor: T.A and U.C"),
    ("if (True) {1} else {2}", "if (True) {1} else {3}", "false_branch: bits"),
    ("ref(1)", "ref_read(1)", "node: RefCreate and RefRead"),
    ("let %x = 1; let %y = 2; %x", "let %x = 1; let %y = 2; %y", "body.body: variable"),
]


def read(text: str) -> Expr:
    return parse_expr(text, base=parse(TYPES))


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_equal_programs(left: str, right: str) -> None:
    assert first_difference(read(left), read(right)) is None
    assert structural_hash(read(left)) == structural_hash(read(right))


@pytest.mark.parametrize(("left", "right", "difference"), DIFFERENT)
def test_different_programs(left: str, right: str, difference: str) -> None:
    found = first_difference(read(left), read(right))
    assert found is not None
    assert difference in found
    assert not structural_equal(read(right), read(left))
    assert structural_hash(read(left)) != structural_hash(read(right))


def test_free_variables_equal_themselves_or_are_mapped_one_to_one() -> None:
    a, b, c = Var("a"), Var("b"), Var("c")
    assert structural_equal(a, a)
    assert not structural_equal(a, b)
    assert structural_equal(ADD(a, b), ADD(b, c), map_free_vars=True)
    assert not structural_equal(ADD(a, b), ADD(c, c), map_free_vars=True)
    assert not structural_equal(ADD(c, c), ADD(a, b), map_free_vars=True)
    assert structural_hash(ADD(a, b)) == structural_hash(ADD(b, a))
    assert structural_hash(ADD(a, b)) != structural_hash(ADD(a, a))


def test_a_bound_variable_is_no_free_one() -> None:
    x, y = Var("x"), Var("y")
    body = NEGATE(x)
    closed, open_ = Function((x,), body), Function((y,), body)
    assert not structural_equal(closed, open_)
    assert not structural_equal(closed, open_, map_free_vars=True)


def test_shared_bodies_under_swapped_parameters_differ() -> None:
    x, y = Var("x"), Var("y")
    body = ADD(x, NEGATE(y))
    assert not structural_equal(Function((x, y), body), Function((y, x), body))


def test_spans_and_inferred_types_do_not_count() -> None:
    plain = NEGATE(constant(1))
    marked = replace(plain, span=Span("f", 1, 1, 1, 2), type=TensorType((), "int32"))
    assert structural_equal(plain, marked)
    assert structural_hash(plain) == structural_hash(marked)


def test_missing_attributes_are_the_defaults() -> None:
    bare = Call(POOL, (constant(1),))
    assert structural_equal(bare, POOL(constant(1)))
    assert structural_hash(bare) == structural_hash(POOL(constant(1)))
    assert not structural_equal(bare, Call(POOL, (constant(1),), ToyAttributes(keep=True)))


def test_constants_count_by_bits_in_any_byte_order() -> None:
    nan = np.array([np.nan, 1.0], np.float32)
    assert structural_equal(Constant(nan), Constant(nan.copy()))
    assert structural_equal(Constant(nan), Constant(nan.astype(">f4")))
    assert not structural_equal(Constant(nan), Constant(nan.reshape(2, 1)))


def test_types_are_compared_up_to_their_own_parameters() -> None:
    a, b = TypeVar("A"), TypeVar("B")
    assert structural_equal(FuncType((a,), a, (a,)), FuncType((b,), b, (b,)))
    assert not structural_equal(FuncType((a,), b), FuncType((b,), a))


def test_modules_compare_their_definitions_in_any_order() -> None:
    left = parse(TYPES + "def @f() { 1 } def @g() { @f() }")
    right = parse("def @g() { @f() } def @f() { 1 }" + TYPES)
    assert structural_equal(left, right)
    assert structural_hash(left) == structural_hash(right)
    for text, difference in [
        ("def @f() { 2 } def @g() { @f() }" + TYPES, "@f.body: bits"),
        ("def @f() { 1 }" + TYPES, "functions: f, g and f"),
        ("def @f() { 1 } def @g() { @f() }" + TYPES.replace("int8", "int16"), "T.constructors"),
        ("#[attributes(a=1)]" + TYPES + "def @f() { 1 } def @g() { @f() }", "attributes"),
    ]:
        found = first_difference(left, parse(text))
        assert found is not None and difference in found
        assert structural_hash(left) != structural_hash(parse(text))


def test_exponentially_large_trees_with_sharing_are_fast() -> None:
    def tower(height: int, share: bool) -> Expr:
        node: Expr = Var("x", TensorType((), "int8"))
        parameter = node
        for _ in range(height):
            node = ADD(node, node) if share else ADD(node, Call(ADD, ()))
        return Function((parameter,), node)  # type: ignore[arg-type]

    assert structural_equal(tower(200, True), tower(200, True))
    assert structural_hash(tower(200, True)) == structural_hash(tower(200, True))
    assert not structural_equal(tower(200, True), tower(200, False))


def test_the_path_of_a_deep_difference_is_cut() -> None:
    def chain(last: int) -> Expr:
        node: Expr = constant(last)
        for _ in range(20_000):
            node = NEGATE(node)
        return Let(Var("x"), node, Tuple(()))

    found = first_difference(chain(1), chain(2))
    assert found is not None
    assert found.startswith("value.arguments[0].arguments[0]")
    assert "<19989 more>" in found
    assert len(found) < 400


def test_the_hash_is_the_same_in_every_process() -> None:
    assert (
        structural_hash(read("fn (%x) { test.negate(%x) }")) == "b76c4f4faa347b299875a1d4b809f7f4"
    )
