"""Which lines a program is printed as, what they are called, and what stands behind them."""

import textwrap
from dataclasses import replace

import numpy as np
import pytest

import relay_tune.op
from relay_tune.errors import Span
from relay_tune.frontend.scope_builder import ScopeBuilder
from relay_tune.ir.dim import Symbol
from relay_tune.ir.expr import Call, Constant, Expr, Function, Let, Tuple, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.ir.parser.parse import parse, parse_expr
from relay_tune.ir.printer.astext import VERSION_LINE, astext
from relay_tune.ir.structural import first_difference
from relay_tune.ir.types import TensorType, scalar_type
from relay_tune.typing.infer import infer_types

assert relay_tune.op.__doc__  # the programs use its operators

X, Y = Var("x"), Var("y")


def operator(name: str) -> Operator:
    found = find_operator(name)
    assert found is not None
    return found


def lines(expr: Expr) -> list[str]:
    """The lines of an expression, which are read back as the same expression."""
    text = astext(expr)
    assert first_difference(parse_expr(text), expr, map_free_vars=True) is None
    return text.removeprefix(VERSION_LINE).splitlines()


def block(text: str) -> str:
    return textwrap.dedent(text).removeprefix("\n")


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (42, "int16", "42i16"),
        (42, "int32", "42"),
        (42, "int64", "42i64"),
        (3, "float16", "3f16"),
        (3, "float32", "3f"),
        (3, "float64", "3f64"),
        (1e11, "float32", "1e+11f"),
    ],
)
def test_a_scalar_is_a_number_with_the_suffix_of_its_type(
    value: float, dtype: str, text: str
) -> None:
    assert lines(constant(value, dtype)) == [text]


def test_a_tuple_that_is_used_twice_has_a_line_of_its_own() -> None:
    pair = Tuple((constant(0), constant(0)))
    assert lines(Let(X, pair, pair)) == ["%0 = (0, 0);", "let %x = %0;", "%0"]
    assert lines(Let(X, pair, X)) == ["let %x = (0, 0);", "%x"]


def test_a_function_stands_before_the_arguments_of_its_call() -> None:
    inner = Call(Function((Y,), Y), (constant(1),))
    assert astext(Call(Function((X,), X), (inner,))) == VERSION_LINE + block("""
        %0 = fn (%x) {
          %x
        };
        %1 = fn (%y) {
          %y
        };
        %2 = %1(1);
        %0(%2)
        """)


def test_lets_stand_in_their_branch() -> None:
    x, condition = Var("x", scalar_type("float32")), Var("cond", scalar_type("bool"))
    builder = ScopeBuilder()
    with builder.if_scope(condition):
        one = builder.let("v", constant(1.0))
        builder.ret(one - builder.let("v", x))
    with builder.else_scope():
        own = Var("v")
        shared = Let(own, x, own)
        builder.ret(shared + shared)
    function = Function((x, condition), builder.get())
    assert (
        lines(function)
        == block("""
        fn (%x: float32, %cond: bool) {
          if (%cond) {
            let %v = 1f;
            let %v_1 = %x;
            subtract(%v, %v_1)
          } else {
            %0 = {
              let %v_2 = %x;
              %v_2
            };
            add(%0, %0)
          }
        }
        """).splitlines()
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("1", '%"1"'),
        ("", '%""'),
        ("base/x", "%base/x"),
        ("input:0", '%"input:0"'),
        ("let", "%let"),
        ('a"b\\', '%"a\\"b\\\\"'),
    ],
)
def test_a_name_that_is_none_of_the_language_stands_in_quotes(name: str, text: str) -> None:
    expr = Function((Var(name),), constant(1))
    assert lines(expr)[0] == f"fn ({text}) {{"
    again = parse_expr(astext(expr))
    assert isinstance(again, Function) and again.params[0].name == name


def test_attributes_at_their_defaults_are_left_out() -> None:
    softmax, expand = operator("nn.softmax"), operator("expand_dims")
    assert lines(softmax(X))[-1] == "nn.softmax(%x)"
    assert lines(softmax(X, axis=2))[-1] == "nn.softmax(%x, axis=2)"
    assert lines(expand(X, axis=2, num_newaxis=1))[-1] == "expand_dims(%x, axis=2)"
    assert lines(expand(X, axis=2, num_newaxis=3))[-1] == "expand_dims(%x, axis=2, num_newaxis=3)"
    assert lines(operator("zeros")(shape=(), dtype="float32")) == ["zeros(shape=())"]


def test_an_attribute_may_be_none() -> None:
    function = replace(Function((X,), X), attributes={"empty": None})
    assert lines(function)[0] == "fn (%x, empty=None) {"


def test_a_constructor_that_is_not_called_is_its_name() -> None:
    text = VERSION_LINE + block("""

        type List[A] {
          Cons(A, List[A]),
          Nil,
        }

        def @main[A]() -> fn (A, List[A]) -> List[A] {
          Cons
        }
        """)
    assert parse(text).astext() == text


def module(*shape: int | Symbol) -> Module:
    """An image with this shape, filtered by a constant."""
    image = Var("x", TensorType(shape, "float32"))
    weight = Constant(np.ones((2, 10, 3, 3), "float32"))
    body = operator("nn.conv2d")(image, weight, channels=2, padding=(1, 1))
    return Module.from_function(Function((image,), body))


def test_large_constants_are_entries_of_the_metadata_section() -> None:
    text = module(Symbol("n"), 10, 8, 8).astext()
    program, _, metadata = text.partition("#[metadata]")
    assert "%x: Tensor[(n, 10, 8, 8), float32]" in program
    assert "nn.conv2d(%x, meta[relay.Constant][0], padding=(1, 1), channels=2)" in program
    assert '"shape": [2, 10, 3, 3]' in metadata


def test_weights_may_be_left_away() -> None:
    whole = module(1, 10, 8, 8)
    program, _, _ = whole.astext().partition("\n#[metadata]")
    assert whole.astext(show_weights=False) == program


def test_types_stand_behind_the_lines_of_a_module() -> None:
    text = "def @myf(%x: float32, %y: float32) { %0 = add(%x, %y); add(%0, %0) }"
    typed = infer_types(parse(text))
    assert typed.astext(show_types=True) == VERSION_LINE + block("""

        def @myf(%x: float32, %y: float32) {
          %0 = add(%x, %y) /* ty=float32 */;
          add(%0, %0) /* ty=float32 */
        }
        """)


def test_the_caller_may_say_what_stands_behind_a_line() -> None:
    first = replace(operator("add")(X, Y), span=Span("Add0", 1, 1, 1, 2))
    second = replace(operator("add")(first, first), span=Span("Add1", 1, 1, 1, 2))

    def location(expr: Expr) -> str:
        return "" if expr.span is None else expr.span.source

    function = Function((X, Y), second)
    assert astext(function, annotate=location) == VERSION_LINE + block("""
        fn (%x, %y) {
          %0 = add(%x, %y) /* Add0 */;
          add(%0, %0) /* Add1 */
        }
        """)
    typed = infer_types(Module.from_function(Function((), constant(1))))
    both = typed.astext(show_types=True, annotate=lambda expr: "one")
    assert "1 /* ty=int32 one */" in both


def test_no_comment_ends_before_its_end() -> None:
    odd = infer_types(parse('type "*/" { C } def @main() { %0 = C; (%0, %0) }'))
    for text in (odd.astext(show_types=True), odd.astext(annotate=lambda expr: "/* */ */ /*/")):
        assert first_difference(parse(text), odd) is None
