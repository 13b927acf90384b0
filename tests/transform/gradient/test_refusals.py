"""What has no derivative is refused, and entries that are differentiated from Python."""

import sys

import numpy as np
import pytest

from relay_tune.errors import BuildError, RelayError
from relay_tune.ir.expr import Expr, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import scalar_type
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.gradient.differentiate import Differentiate
from relay_tune.transform.gradient.entry import differentiated
from relay_tune.typing.infer import infer_types

SQUARE = '#[version = "0.0.5"]\ndef @main(%x: float32, %y: float32) { %x * %x * %y }'


def test_a_function_that_asks_for_its_own_derivative(after):
    with pytest.raises(BuildError, match="@f_gradient is part of the function"):
        after(
            "def @f(%x: float32) -> float32 { if (%x < 0f) { %x } else { grad(@f)(%x - 1f).0 } }\n"
            "def @main(%x: float32) { grad(@f)(%x) }"
        )


def test_a_local_recursion_over_closures_that_ask_for_derivatives_says_what_reaches_what(after):
    with pytest.raises(BuildError, match="@main_function_gradient is part of") as caught:
        after(
            """def @main(%x: float32) {
              let %many = fn (%f: fn (float32) -> float32, %n: int32, %x: float32) -> float32 {
                if (%n < 1) { %x } else { %f(%many(%f, %n - 1, %x)) } };
              let %inner = fn (%a: float32) { %many(fn (%b: float32) { %b * %b }, 2, %a) };
              %many(fn (%a: float32) { grad(%inner)(%a).0 }, 2, %x)
            }"""
        )
    assert "line 6" in str(caught.value) or ":6:" in str(caught.value)
    assert "functions of the module" in (caught.value.remedy or "")


def test_a_program_without_requests_stays_the_same_object():
    module = infer_types(parse(SQUARE))
    assert Differentiate()(module) is module


def test_what_a_program_holds_constant_has_no_derivative(after):
    module = after(
        "def @f(%x: float32) { %x * stop_gradient(%x) }\ndef @main(%x: float32) { grad(@f)(%x) }"
    )
    assert "stop_gradient" in module.astext()
    assert "add" not in module.astext()


def test_an_entry_is_differentiated_with_regard_to_chosen_parameters():
    made = differentiated(parse(SQUARE), wrt=["y"])
    assert isinstance(made, Module)
    assert [param.name for param in made.main.params] == ["x", "y"]
    assert [param.name for param in differentiated(parse(SQUARE), mode="tangent").main.params] == [
        "x",
        "y",
        "d_x",
        "d_y",
    ]


@pytest.mark.parametrize("wrt", [["z"], [2], [-1]])
def test_parameters_that_there_are_not(wrt):
    with pytest.raises(RelayError, match="has no parameter"):
        differentiated(parse(SQUARE), wrt=wrt)


def test_a_mode_that_there_is_not():
    with pytest.raises(RelayError, match="no derivative in the mode"):
        differentiated(parse(SQUARE), mode="sideways")


def test_a_program_deeper_than_the_stack_of_python():
    x = Var("x", scalar_type("float32"))
    expr: Expr = x
    for _ in range(sys.getrecursionlimit() + 200):
        expr = expr + x
    made = differentiated(Module.from_function(Function((x,), expr)))
    _, (slope,) = interpret(made, np.float32(2.0))
    assert slope == sys.getrecursionlimit() + 201
