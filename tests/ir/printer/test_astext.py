import textwrap
from dataclasses import replace

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Constant, Expr, Function, If, Let, Tuple, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse, parse_expr
from relay_tune.ir.printer.astext import VERSION_LINE, astext
from relay_tune.ir.types import TensorType
from tests.properties.toy_operators import ADD, NEGATE

X = Var("x")


def printed(expr: Expr) -> str:
    return astext(expr).removeprefix(VERSION_LINE)


def block(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def test_a_module_shows_every_construct() -> None:
    text = VERSION_LINE + block("""
        #[attributes(seed=1, rate=0.5f)]

        extern type Storage

        type List[A] {
          Cons(A, List[A]),
          Nil,
        }

        def @f[S: Shape](%x: Tensor[(2 * n - 1, ?), int8], %"in:0": ref(fn [B](B) -> B), P=1) -> _ {
          let %f = fn (%n: int32) {
            %0 = test.add(%x, %x);
            %1 = test.pool(%0, axis=2, epsilon=1f, pads=(1, 2), name="q");
            if (%n) {
              %1
            } else {
              %2 = %f(%n);
              test.add(%2, %1.0)
            }
          };
          %3 = ref(%"in:0");
          @f[int8](%3, -1i8)
        }
        """)
    assert astext(parse(text)) == text


def test_match_is_written_clause_by_clause() -> None:
    base = parse("type List { Cons(int8, List), Nil }")
    text = block("""
        %0 = Nil();
        match? (%0) {
          Cons(%h: int8, (_, %t)) => {
            (%h, %t)
          },
          Nil => {
            constructor(Nil)
          },
        }
        """)
    assert printed(parse_expr(text, base=base)) == text


def test_calls_get_lines_and_small_things_stand_inline() -> None:
    pair = Tuple((NEGATE(X), X))
    assert printed(ADD(NEGATE(X), pair)) == block("""
        free_var %x;
        %0 = test.negate(%x);
        %1 = test.negate(%x);
        test.add(%0, (%1, %x))
        """)


def test_a_shared_node_stands_in_the_innermost_scope_around_its_uses() -> None:
    shared = NEGATE(X)
    condition = Var("c")
    twice_in_branch = If(condition, ADD(shared, shared), X)
    assert printed(twice_in_branch) == block("""
        free_var %c;
        free_var %x;
        if (%c) {
          %0 = test.negate(%x);
          test.add(%0, %0)
        } else {
          %x
        }
        """)
    in_both = If(condition, shared, NEGATE(shared))
    assert "%0 = test.negate(%x);\nif (%c)" in printed(in_both)


def test_a_node_stands_behind_the_let_whose_variable_it_uses() -> None:
    y = Var("y")
    shared = NEGATE(y)
    assert printed(Let(y, constant(1), ADD(shared, shared))) == block("""
        let %y = 1;
        %0 = test.negate(%y);
        test.add(%0, %0)
        """)


def test_a_let_that_is_an_argument_stands_in_braces() -> None:
    y = Var("y")
    assert printed(NEGATE(Let(y, X, y))) == block("""
        free_var %x;
        %0 = {
          let %y = %x;
          %y
        };
        test.negate(%0)
        """)


def test_variables_of_one_name_get_different_ones() -> None:
    first, second, third = Var("x"), Var("x"), Var("x_1")
    function = Function((first, second, third), Tuple((first, second, third)))
    assert "fn (%x, %x_1, %x_2)" in printed(function)


def test_constants_are_literals_or_metadata_entries() -> None:
    weight = Constant(np.ones((2, 2), np.float32))
    text = astext(Tuple((constant(1.0), constant(True), weight, weight)))
    assert "(1f, True, meta[relay.Constant][0], meta[relay.Constant][0])" in text
    assert text.count('"dtype"') == 1


def test_constants_of_foreign_types_are_refused() -> None:
    with pytest.raises(InputError, match="complex128"):
        astext(Constant(np.ones(2, complex)))


def test_a_number_before_a_bracket_or_point_stands_in_brackets() -> None:
    call = Call(constant(1), (X,))
    assert "(1)(%x)" in printed(call)


def test_types_are_shown_as_comments_on_request() -> None:
    call = replace(NEGATE(X), type=TensorType((3,), "int8"))
    assert "test.negate(%x) /* ty=Tensor[(3), int8] */" in astext(call, show_types=True)
    assert "/*" not in astext(call)
    assert astext(parse_expr(astext(call, show_types=True))) == astext(call)


def test_an_empty_module_is_its_version_line() -> None:
    assert astext(Module({})) == VERSION_LINE


def test_deep_blocks_do_not_make_the_text_quadratic() -> None:
    expr: Expr = X
    for _ in range(3000):
        expr = If(X, expr, X)
    text = astext(expr)
    assert len(text) < 3000 * 5 * 60
