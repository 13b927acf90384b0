"""Whatever is changed about a node is seen by the comparison and by the hash."""

from itertools import combinations

import pytest

import relay_tune.op
from relay_tune.ir.expr import (
    Clause,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Pattern,
    Tuple,
    TupleGetItem,
    Var,
    VarPattern,
    constant,
)
from relay_tune.ir.parser.parse import parse, parse_expr
from relay_tune.ir.structural import first_difference, structural_equal, structural_hash
from relay_tune.ir.types import TypeVar

assert relay_tune.op.__doc__  # the texts use its operators

BASE = parse("""
type List[A] { Cons(A, List[A]), Nil }
type Option[A] { Some(A), None }
""")


def match(clauses: str, value: str = "Cons(1, Cons(2, Nil))") -> str:
    return f"match? ({value}) {{ {clauses} }}"


NIL, CONS = "Nil => Nil,", "Cons(%x, %y) => Cons(%x, %y),"

VARIANTS = {
    "constant": ["1", "2", "1i64", "1f", "True", "(1,)"],
    "tuple": ["()", "(1, 2, (4,))", "(1, 2, (4,), 5)", "(1, 2)", "(1, 2, (5,))", "(3, 2, (4,))"],
    "projection": ["(1, 1).0", "(1, 1).1", "(1, 2).1"],
    "function": [
        "fn (%a: int8, %b: int16) -> int16 { %a }",
        "fn (%a: int8, %b: int16) { %a }",
        "fn (%b: int16) -> int16 { %b }",
        "fn (%a: int8, %b: int16, %c: int16) -> int16 { %a }",
        "fn (%b: int16, %a: int8) -> int16 { %a }",
        "fn (%a: int8, %b: (int8, int16)) -> int16 { %a }",
        "fn (%a: int8, %b: int16) -> int8 { %a }",
        "fn (%a: int8, %b: int16) -> int16 { %b }",
        "fn (%a: int8, %b) -> int16 { %a }",
        "fn (%a: Tensor[(10, 10), int8], %b: int16) -> int16 { %a }",
        "fn (%a: Tensor[(20, 10), int8], %b: int16) -> int16 { %a }",
        "fn (%a: int8, %b: int16, Name=1) -> int16 { %a }",
        'fn (%a: int8, %b: int16, Name="a") -> int16 { %a }',
        'fn (%a: int8, %b: int16, Name="b") -> int16 { %a }',
    ],
    "type parameters": [
        "fn [A, B](%a: A, %b: B) { %a }",
        "fn [B, A](%a: A, %b: B) { %a }",
        "fn [A](%a: A, %b: A) { %a }",
        "fn [A, B, C](%a: A, %b: B) { %a }",
        "fn [A: Shape, B: Shape](%a: A, %b: B) { %a }",
    ],
    "call": [
        "@f(1, 2, ())",
        "@g(1, 2, ())",
        "@f(1, 2)",
        "@f(2, 1, ())",
        "@f(1, 2, 3)",
        "@f(1, 2, (), 3)",
        "@f[int8](1, 2, ())",
        "@f[int8, int16](1, 2, ())",
        "@f[int16](1, 2, ())",
    ],
    "operator": [
        "nn.softmax(1f)",
        "nn.softmax(1f, axis=0)",
        "nn.log_softmax(1f)",
        "add(1, 2)",
        "take(1, 2)",
        "add",
        "take",
    ],
    "let": [
        "let %x = 2; %x",
        "let %x = 3; %x",
        "let %x = 2; 2",
        "let %x: int8 = 2; %x",
        "let %x: int16 = 2; %x",
    ],
    "order of lets": [
        "fn (%p, %q) { let %a = %p + 1; let %b = %q + 1; %a + %b }",
        "fn (%p, %q) { let %b = %q + 1; let %a = %p + 1; %a + %b }",
    ],
    "branch": [
        "if (True) { 1 } else { (2, 3) }",
        "if (False) { 1 } else { (2, 3) }",
        "if (True) { 2 } else { (2, 3) }",
        "if (True) { 1 } else { () }",
    ],
    "reference": ["ref(1)", "ref(2)", "ref_read(ref(1))", "ref_write(ref(1), 1)"],
    "constructor": ["Cons", "constructor(Nil)", "Nil", "Some"],
    "match": [
        match(NIL + CONS),
        match(NIL + CONS).replace("?", ""),
        match(NIL),
        match(CONS),
        match(""),
        match(NIL + CONS, "Nil"),
        match(CONS + NIL),
        match("Nil => Cons(Nil, Nil)," + CONS),
        match(NIL + "Cons(_, _) => Nil"),
        match(NIL + "Cons(%x, _) => Nil"),
        match(NIL + CONS + "_ => Nil"),
        match("None => Nil, Some(%x) => Cons(%x, Nil)"),
        match(NIL + "%x => %x"),
        match(NIL + "_ => Nil"),
        match("(%a, %b) => %a + %b", "(1, 1)"),
        match("(%a, %b) => %b + %a", "(1, 1)"),
    ],
}


@pytest.mark.parametrize("texts", VARIANTS.values(), ids=VARIANTS)
def test_programs_that_differ_in_one_thing(texts: list[str]) -> None:
    first = [parse_expr(text, base=BASE) for text in texts]
    second = [parse_expr(text, base=BASE) for text in texts]
    for same, other in zip(first, second, strict=True):
        assert structural_equal(same, other)
        assert structural_hash(same) == structural_hash(other)
    for left, right in combinations(first, 2):
        assert not structural_equal(left, right)
        assert not structural_equal(right, left)
        assert structural_hash(left) != structural_hash(right)


X, Y, Z = Var("x"), Var("y"), Var("z")
A = TypeVar("A")
ONE = constant(1)


def clause(pattern: Pattern, body: Expr) -> Match:
    return Match(X, (Clause(pattern, body),))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (X, Y),
        (Tuple((X, ONE)), Tuple((Y, ONE))),
        (TupleGetItem(X, 1), TupleGetItem(Y, 1)),
        (X(ONE), Y(ONE)),
        (If(X, ONE, ONE), If(Y, ONE, ONE)),
        (Let(X, ONE, X), Let(X, ONE, Y)),
        (Let(X, Y, X), Let(X, Z, X)),
        (Function((X,), Y), Function((X,), Z)),
        (clause(VarPattern(Y), Y), clause(VarPattern(Y), Z)),
        (GlobalVar("f"), GlobalVar("g")),
        (GlobalVar("x"), X),
    ],
)
def test_a_free_variable_is_only_itself(left: Expr, right: Expr) -> None:
    assert structural_equal(left, left)
    assert not structural_equal(left, right)
    assert not structural_equal(right, left)


def test_a_pattern_binds_its_variables() -> None:
    left, right = clause(VarPattern(Y), Y(X)), clause(VarPattern(Z), Z(X))
    assert structural_equal(left, right)
    assert structural_hash(left) == structural_hash(right)


@pytest.mark.parametrize("pair", [(A, X), (VarPattern(X), X), (VarPattern(X), A), (BASE, X)])
def test_nodes_of_different_kinds_are_different(pair: tuple[object, object]) -> None:
    left, right = pair
    assert first_difference(left, right) is not None  # type: ignore[arg-type]
    assert first_difference(right, left) is not None  # type: ignore[arg-type]
