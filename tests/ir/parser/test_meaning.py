"""Texts and the nodes that they mean."""

import pytest

import relay_tune.op
from relay_tune.errors import ParseError
from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Call, Expr, Function, If, Let, Tuple, TupleGetItem, Var, constant
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.ir.parser.parse import parse_expr
from relay_tune.ir.printer.astext import astext
from relay_tune.ir.structural import first_difference
from relay_tune.ir.types import (
    UNIT,
    FuncType,
    IncompleteType,
    TensorType,
    TupleType,
    Type,
    scalar_type,
)

assert relay_tune.op.__doc__  # the texts use its operators

X, Y, F = Var("x"), Var("y"), Var("f")
INT32 = scalar_type("int32")
ZERO, ONE = constant(0), constant(1)
NOTHING = Tuple(())


def operator(name: str) -> Operator:
    found = find_operator(name)
    assert found is not None
    return found


INFIX = {
    "*": "multiply",
    "/": "divide",
    "+": "add",
    "-": "subtract",
    "<": "less",
    ">": "greater",
    "<=": "less_equal",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}
CURRIED = Function((X,), Function((Y,), operator("multiply")(X, Y)))

MEANINGS = [
    ("// a line\n()", NOTHING),
    ("/* several\n lines */ ()", NOTHING),
    ("(0,)", Tuple((ZERO,))),
    ("(0, 1, 0)", Tuple((ZERO, ONE, ZERO))),
    ("let %x = 1; let %y = 0; ()", Let(X, ONE, Let(Y, ZERO, NOTHING))),
    ("(); ()", Let(Var("_"), NOTHING, NOTHING)),
    ("%1 = (); %1", NOTHING),
    ("%7 = (); %3 = 1; (%7, %7, %3)", Tuple((NOTHING, NOTHING, ONE))),
    ("free_var %x; %x((%x,).0, %x)", Call(X, (TupleGetItem(Tuple((X,)), 0), X))),
    ("fn () { 0 }", Function((), ZERO)),
    ("fn (%x, %y) { %x + %y }", Function((X, Y), operator("add")(X, Y))),
    ("let %f = fn () { 0 }; %f()", Let(F, Function((), ZERO), Call(F, ()))),
    ("(fn (%x) { %x })(0)", Call(Function((X,), X), (ZERO,))),
    (
        "let %f = fn (%x) { fn (%y) { %x * %y } }; %f(0); %f(0)(1)",
        Let(F, CURRIED, Let(Var("_"), Call(F, (ZERO,)), Call(Call(F, (ZERO,)), (ONE,)))),
    ),
    ("if (True) { 0 } else { 1 }", If(constant(True), ZERO, ONE)),
    ("%0 = if (True) { 0 } else { 1 }; %0", If(constant(True), ZERO, ONE)),
    ("let %x = if (True) { 0 } else { 1 }; %x", Let(X, If(constant(True), ZERO, ONE), X)),
    ("nn.global_avg_pool2d", operator("nn.global_avg_pool2d")),
    ("abs(1)", operator("abs")(ONE)),
]


@pytest.mark.parametrize(("text", "meant"), MEANINGS)
def test_a_text_means_its_nodes(text: str, meant: Expr) -> None:
    expr = parse_expr(text)
    assert first_difference(expr, meant, map_free_vars=True) is None
    assert first_difference(parse_expr(astext(expr)), meant, map_free_vars=True) is None


@pytest.mark.parametrize(("symbol", "name"), INFIX.items())
def test_an_infix_symbol_is_a_call(symbol: str, name: str) -> None:
    meant = operator(name)(ONE, ZERO)
    assert first_difference(parse_expr(f"1 {symbol} 0"), meant) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1 * 2 + 3 < 4 == 5", "(((1 * 2) + 3) < 4) == 5"),
        ("1 == 2 < 3 + 4 * 5", "1 == (2 < (3 + (4 * 5)))"),
    ],
)
def test_strong_symbols_group_before_weak_ones(text: str, meant: str) -> None:
    assert first_difference(parse_expr(text), parse_expr(meant)) is None


def test_brackets_change_what_groups() -> None:
    assert first_difference(parse_expr("1 * 2 + 3"), parse_expr("1 * (2 + 3)")) is not None


TYPES = [
    ("Tensor[(), float32]", TensorType((), "float32")),
    ("Tensor[(1), float32]", TensorType((1,), "float32")),
    ("Tensor[(1, 2), float32]", TensorType((1, 2), "float32")),
    ("Tensor[(?, 1), float32]", TensorType((UNKNOWN, 1), "float32")),
    ("()", UNIT),
    ("(int32,)", TupleType((INT32,))),
    ("(int32, int32)", TupleType((INT32, INT32))),
    ("fn () -> int32", FuncType((), INT32)),
    ("fn (int32, ()) -> int32", FuncType((INT32, UNIT), INT32)),
    *((dtype, scalar_type(dtype)) for dtype in DTYPES),
]


@pytest.mark.parametrize(("text", "meant"), TYPES)
def test_a_text_means_its_type(text: str, meant: Type) -> None:
    expr = parse_expr(f"let %x: {text} = (); ()")
    assert isinstance(expr, Let) and expr.var.annotation == meant
    again = parse_expr(astext(expr))
    assert isinstance(again, Let) and again.var.annotation == meant


def test_an_open_type_is_annotated_by_a_hole() -> None:
    expr = parse_expr("let %x: _ = (); ()")
    assert isinstance(expr, Let) and isinstance(expr.var.annotation, IncompleteType)
    assert "let %x: _ = ();" in astext(expr)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("let @x = 1; ()", "Expected a local variable, but found @x"),
        ("let x = 1; ()", "Expected a local variable, but found x"),
        ("if (True) { let %x = (); () } else { %x }", "no variable %x"),
        ("if (True) { %0 = (); %0 } else { %0 }", "no graph variable %0"),
        ("meta[type_key][1337]", "has only relay.Constant"),
        ("meta[relay.Constant][1337]", "no constant 1337"),
        ("let %x: int8x4 = (); ()", "no type int8x4"),
    ],
)
def test_what_means_nothing_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_expr(text)
