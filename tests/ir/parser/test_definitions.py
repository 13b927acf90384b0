"""Texts of whole programs: data types, functions, attributes, and what they build on."""

import numpy as np
import pytest

import relay_tune.op
from relay_tune.errors import ParseError
from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Call, Constant, Expr, Function, If, Let, Match
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse, parse_expr
from relay_tune.ir.structural import first_difference
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import GlobalTypeVar, TensorType, TypeCall
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.std import prelude
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text

assert relay_tune.op.__doc__  # the texts use its operators

LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"
LENGTH = """
def @length[A](%xs: List[A]) -> int32 {
  MATCH (%xs) { Cons(_, %rest: List[A]) => { (); 1 + @length(%rest) }, Nil => 0, }
}
"""


def read(text: str) -> Module:
    """The module of a text, which is printed and read again on the way."""
    module = parse(text)
    again = parse(module.astext())
    assert first_difference(module, again) is None
    assert again.astext() == module.astext()
    return again


def test_a_type_may_have_no_constructors() -> None:
    module = read("type Never { }\nextern type Handle[A]\ntype Unit { Only }")
    assert [len(data.constructors) for data in module.types.values()] == [0, 0, 1]
    assert [data.extern for data in module.types.values()] == [False, True, False]
    assert [part.name for part in module.types["Handle"].type_params] == ["A"]


def test_constructors_take_the_parameters_of_their_type() -> None:
    data = read(LIST + "type Either[A, B] { Left(A), Right(B), }").types
    a, b = data["Either"].type_params
    assert [part.inputs for part in data["Either"].constructors] == [(a,), (b,)]
    (element,) = data["List"].type_params
    cons, nil = data["List"].constructors
    assert cons.inputs == (element, TypeCall(GlobalTypeVar("List"), (element,)))
    assert (cons.name, nil.name, nil.inputs) == ("Cons", "Nil", ())


def test_a_field_may_have_a_size_that_is_not_known() -> None:
    (made,) = read("type Rows { Make(Tensor[(?, 1), uint16]) }").types["Rows"].constructors
    assert made.inputs == (TensorType((UNKNOWN, 1), "uint16"),)


def test_a_constructor_may_have_the_name_of_a_type() -> None:
    module = read("type A { B } type B { A } def @main(%x: A) -> (A, B) { (%x, A) }")
    assert type_text(infer_types(module).main.type) == "fn (A) -> (A, B)"


def test_a_constructor_that_is_called_like_a_keyword_stands_in_quotes() -> None:
    text = (
        'type Box[T] { "constructor"(T) } def @main() { ("constructor"(()), "constructor"(0f),) }'
    )
    assert type_text(infer_types(read(text)).main.type) == "fn () -> (Box[()], Box[float32])"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LIST + LIST, "The type List is defined twice"),
        ("type A { Same } type B { Same }", "The constructor Same is defined twice"),
        (2 * "def @id[A](%x: A) -> A { %x } ", "The function @id is defined twice"),
    ],
)
def test_a_name_is_defined_once(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(text)


@pytest.mark.parametrize(("word", "complete"), [("match", True), ("match?", False)])
def test_a_match_is_complete_or_not(word: str, complete: bool) -> None:
    module = read(LIST + LENGTH.replace("MATCH", word))
    body = module["length"].body
    assert isinstance(body, Match) and body.complete is complete
    first, second = body.clauses
    assert isinstance(first.body, Let) and isinstance(second.body, Constant)
    calls = "def @main(%x: int32) { @length(Cons(%x, Cons(2, Nil))) }"
    assert interpret(parse(calls, base=module), 1) == 2


def test_a_function_of_constructors() -> None:
    module = read(LIST + "def @single(%x: int32) -> List[int32] { Cons(%x, Nil) }")
    cons = module["single"].body
    assert isinstance(cons, Call) and cons.callee is module.types["List"].constructors[0]
    nil = cons.arguments[1]
    assert isinstance(nil, Call) and nil.callee is module.types["List"].constructors[1]


def test_a_function_may_call_itself() -> None:
    body = read("def @id(%x: int32) -> int32 { @id(%x) }")["id"].body
    assert isinstance(body, Call) and repr(body.callee) == "@id"


def test_a_graph_variable_may_be_a_branch() -> None:
    module = read("def @main(%b: bool) { %0 = if (%b) { 1 } else { 0 }; (%0, %0) }")
    branches = [node for node in post_order(module.main.body) if isinstance(node, If)]
    assert len(branches) == 1


def test_references_are_made_written_and_read() -> None:
    module = read("def @main(%x: float32) { %0 = ref(%x); ref_write(%0, 2f); ref_read(%0) }")
    assert interpret(module, 1.0) == 2.0


def attributes(call: Expr) -> object:
    assert isinstance(call, Call)
    return call.attributes


def test_attributes_of_operators() -> None:
    images = "free_var %x: Tensor[(1, 8, 8, 3), float32]; free_var %w; "
    layouts = 'data_layout="NHWC", kernel_layout="HWIO"'
    found = attributes(parse_expr(f"{images} nn.conv2d(%x, %w, {layouts})"))
    assert (found.data_layout, found.kernel_layout) == ("NHWC", "HWIO")  # type: ignore[attr-defined]
    clip = attributes(parse_expr("clip(1f, a_min=-inff, a_max=inff)"))
    assert (clip.a_min, clip.a_max) == (-np.inf, np.inf)  # type: ignore[attr-defined]
    dense = attributes(parse_expr("free_var %x; nn.dense(%x, %x, units=None)"))
    assert dense.units is None  # type: ignore[attr-defined]


def test_attributes_of_functions() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32], Primitive=1, relay.reshape_only=1, none=None) {"
    function = read(f"{text} reshape(%x, newshape=[-1]) }}").main
    assert function.attributes == {"Primitive": 1, "relay.reshape_only": 1, "none": None}


def test_calls_of_functions_have_no_attributes() -> None:
    with pytest.raises(ParseError, match="Only calls of operators have attributes"):
        parse_expr('fn () { 1 }(name="a")')


def test_the_prelude_is_a_text() -> None:
    module = read(prelude().astext())
    assert first_difference(module, prelude()) is None


def test_a_program_builds_on_another_one() -> None:
    base = read("def @f(%y: Tensor[(2), float32]) { negative(%y) }")
    text = """
def @main(%x: Tensor[(2), float32]) { add(@f(%x), meta[relay.Constant][0]) }
#[metadata]
{"relay.Constant": [{"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="}]}
"""
    module = parse(text, base=base)
    assert isinstance(module["f"], Function)
    again = read(module.astext())
    assert interpret(again, np.ones(2, "float32")).tolist() == [0.0, 1.0]
