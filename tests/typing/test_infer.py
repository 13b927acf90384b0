"""Programs in text, and the types of their functions."""

from itertools import pairwise

import numpy as np
import pytest

from relay_tune.errors import TypeInferenceError
from relay_tune.ir.expr import (
    Call,
    Constant,
    Function,
    GlobalVar,
    Let,
    Match,
    Tuple,
    TupleGetItem,
    Var,
)
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.parser.parse import parse, parse_expr
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import FuncType, IncompleteType, TensorType, TypeVar
from relay_tune.typing.infer import infer_expr, infer_types
from relay_tune.typing.type_text import type_text

LIST = "type List[A] { Cons(A, List[A]), Nil }\n"
MAP = (
    LIST + "def @map(%f, %l) { match (%l) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)),"
    " Nil => Nil } }\n"
)
ID = "def @id[T](%x: T) -> T { %x }\n"

PROGRAMS = [
    (
        "def @main(%x: Tensor[(3, 4), float32], %y: Tensor[(4), float32]) { demo.add(%x, %y) }",
        "fn (Tensor[(3, 4), float32], Tensor[(4,), float32]) -> Tensor[(3, 4), float32]",
    ),
    ("def @main() { (1, 2f, ()) }", "fn () -> (int32, float32, ())"),
    ("def @main(%p: (int32, bool)) { %p.1 }", "fn ((int32, bool)) -> bool"),
    ("def @main(%x: int32) { if (True) { %x } else { 2 } }", "fn (int32) -> int32"),
    # An unknown size makes the result of a choice unknown.
    (
        "def @main(%x: Tensor[(3), bool], %y: Tensor[(?), bool]) { if (True) { %x } else { %y } }",
        "fn (Tensor[(3,), bool], Tensor[(?,), bool]) -> Tensor[(?,), bool]",
    ),
    # Polymorphism: written, found for let, found for globals.
    (ID + "def @main() { (@id(1), @id(2f)) }", "fn () -> (int32, float32)"),
    ("def @main() { let %id = fn (%a) { %a }; (%id(1), %id(2f)) }", "fn () -> (int32, float32)"),
    (
        "def @main() { let %k = fn (%a) { fn (%b) { %a } }; %k(1)(2f) }",
        "fn () -> int32",
    ),
    ("def @main(%x, %y) { (%y, %x) }", "fn [a, b](a, b) -> (b, a)"),
    (
        "def @main() { let %f = fn (%a) { let %g = fn (%b) { (%a, %b) }; (%g(1), %g(2f)) }; %f }",
        "fn () -> fn [a](a) -> ((a, int32), (a, float32))",
    ),
    # A function passed to a function is instantiated where it is used.
    (
        ID + "def @twice(%f: fn (int32) -> int32, %x: int32) { %f(%f(%x)) }\n"
        "def @main() { @twice(@id, 1) }",
        "fn () -> int32",
    ),
    # Recursion: a global, two globals, a local one.
    (
        "def @main(%n: int32) { if (True) { %n } else { @main(demo.add(%n, 1)) } }",
        "fn (int32) -> int32",
    ),
    (
        "def @main(%n: int32) { if (True) { 1f } else { @odd(%n) } }\n"
        "def @odd(%n: int32) { if (True) { 2f } else { @main(%n) } }",
        "fn (int32) -> float32",
    ),
    (
        "def @main(%n: int32) { let %loop = fn (%i: int32) {"
        " if (True) { %i } else { %loop(demo.add(%i, 1)) } }; %loop(%n) }",
        "fn (int32) -> int32",
    ),
    # Polymorphic recursion, where the type is written out.
    (
        "def @main[T](%x: T, %n: int32) -> int32 { if (True) { %n } else { @main((%x, %x), %n) } }",
        "fn [T](T, int32) -> int32",
    ),
    # Data types.
    (LIST + "def @main() { Cons(1, Nil) }", "fn () -> List[int32]"),
    (
        MAP + "def @main() { @map(fn (%x) { (%x, 1f) }, Cons(1, Nil)) }",
        "fn () -> List[(int32, float32)]",
    ),
    ("type Nat { Zero, Succ(Nat) }\ndef @main() { Succ(Succ(Zero)) }", "fn () -> Nat"),
    (
        LIST + "def @main(%p: (List[int32], bool)) {"
        " match (%p) { (Cons(%h, _), _) => %h, (Nil, _) => 0 } }",
        "fn ((List[int32], bool)) -> int32",
    ),
    # References.
    ("def @main(%x: int32) { ref(%x) }", "fn (int32) -> ref(int32)"),
    ("def @main(%r: ref(int32)) { ref_write(%r, 2) }", "fn (ref(int32)) -> ()"),
    (
        "def @main(%x: int32) { let %r = ref(%x); ref_write(%r, 2); ref_read(%r) }",
        "fn (int32) -> int32",
    ),
    # Sizes: symbols are equal to themselves; a call replaces them.
    (
        "def @main(%x: Tensor[(n, 4), float32]) { demo.concatenate((%x, %x)) }",
        "fn (Tensor[(n, 4), float32]) -> Tensor[(2 * n, 4), float32]",
    ),
    (
        "def @f(%x: Tensor[(n, m), bool]) { demo.transpose(%x, axes=[1, 0]) }\n"
        "def @main(%x: Tensor[(3, ?), bool]) { @f(%x) }",
        "fn (Tensor[(3, ?), bool]) -> Tensor[(?, 3), bool]",
    ),
    (
        "def @f(%x: Tensor[(n), bool]) { demo.concatenate((%x, %x)) }\n"
        "def @main(%x: Tensor[(k), bool]) { @f(@f(%x)) }",
        "fn (Tensor[(k,), bool]) -> Tensor[(4 * k,), bool]",
    ),
    (
        "def @f(%x: Tensor[(2 * n), bool], %y: Tensor[(n), bool]) { %y }\n"
        "def @main(%x: Tensor[(6), bool], %y: Tensor[(3), bool]) { @f(%x, %y) }",
        "fn (Tensor[(6,), bool], Tensor[(3,), bool]) -> Tensor[(3,), bool]",
    ),
    (
        "def @main(%x: Tensor[(n), bool]) { let %f = fn (%y: Tensor[(m), bool]) { %y };"
        " (%f(%x), %f(demo.concatenate((%x, %x)))) }",
        "fn (Tensor[(n,), bool]) -> (Tensor[(n,), bool], Tensor[(2 * n,), bool])",
    ),
    # Backward: a relation that finds the type of its own input.
    (
        "def @main(%x: Tensor[(2, 3), float32], %w) { demo.dense(%x, %w, units=5) }",
        "fn (Tensor[(2, 3), float32], Tensor[(5, 3), float32]) -> Tensor[(2, 5), float32]",
    ),
    (
        "def @main(%x: Tensor[(2, 3), float32], %g, %b, %m, %v) {"
        " demo.batch_norm(%x, %g, %b, %m, %v, axis=1).0 }",
        "fn (Tensor[(2, 3), float32], Tensor[(3,), float32], Tensor[(3,), float32], "
        "Tensor[(3,), float32], Tensor[(3,), float32]) -> Tensor[(2, 3), float32]",
    ),
    # What gives the type of its argument finds that from its result, through other calls too.
    (
        "def @main(%x) -> Tensor[(3), float32] { demo.exp(demo.exp(%x)) }",
        "fn (Tensor[(3,), float32]) -> Tensor[(3,), float32]",
    ),
    (
        "def @main(%x, %y: Tensor[(3), float32]) { let %e = demo.exp(%x);"
        " if (True) { %e } else { %y } }",
        "fn (Tensor[(3,), float32], Tensor[(3,), float32]) -> Tensor[(3,), float32]",
    ),
    # A function that is given, and what it gives.
    (
        "def @main(%x: int32, %f) -> bool { %f(%x) }",
        "fn (int32, fn (int32) -> bool) -> bool",
    ),
    (
        "def @main(%c: bool) { if (%c) { fn (%f: fn (int32) -> int32) { %f(1) } }"
        " else { fn (%g: fn (int32) -> int32) { %g(%g(2)) } } }",
        "fn (bool) -> fn (fn (int32) -> int32) -> int32",
    ),
    # Constructors are functions; their patterns may be annotated.
    (LIST + "def @main() { Cons }", "fn () -> fn [A](A, List[A]) -> List[A]"),
    (
        LIST + "def @main() { let %c = Cons; (%c(1, Nil), %c(2f, Nil)) }",
        "fn () -> (List[int32], List[float32])",
    ),
    (
        LIST + "def @main(%l: _) { match (%l) { Cons(%h: int32, %t: List[int32]) => %t,"
        " Nil => Nil } }",
        "fn (List[int32]) -> List[int32]",
    ),
    # A function of a size that is not known takes a known one.
    (
        "def @f(%x: Tensor[(?, 4), float32]) { demo.exp(%x) }\n"
        "def @main(%x: Tensor[(3, 4), float32]) { @f(%x) }",
        "fn (Tensor[(3, 4), float32]) -> Tensor[(?, 4), float32]",
    ),
    # Later uses say what earlier ones need.
    (
        "def @main(%x: Tensor[(3), float32]) {"
        " let %f = fn (%t: _) { (demo.exp(%t.0), %t) }; %f((%x, 1)).0 }",
        "fn (Tensor[(3,), float32]) -> Tensor[(3,), float32]",
    ),
]


def infer(text: str) -> Module:
    return infer_types(parse('#[version = "0.0.5"]\n' + text))


@pytest.mark.parametrize(("text", "expected"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_type_of_main(text, expected):
    assert type_text(infer(text).main.type) == expected


@pytest.mark.parametrize("text", [text for text, _ in PROGRAMS], ids=range(len(PROGRAMS)))
def test_every_expression_is_typed_and_typing_again_changes_nothing(text):
    typed = infer(text)
    for function in typed.functions.values():
        for node in post_order(function):
            assert node.type is not None or node is find_operator(getattr(node, "name", ""))
            assert not isinstance(node.type, IncompleteType)
    again = infer_types(typed)
    assert [type_text(f.type) for f in again.functions.values()] == [
        type_text(f.type) for f in typed.functions.values()
    ]


def test_a_typed_module_without_match_is_kept():
    typed = infer("def @main(%x: int32) { let %y = demo.add(%x, 1); (%y, %y) }")
    assert infer_types(typed).main is typed.main


def test_calls_of_polymorphic_functions_get_type_arguments():
    call = infer(ID + "def @main() { @id(1f) }").main.body
    assert call.type_arguments == (TensorType((), "float32"),)


def test_branches_agree_on_an_instance_of_polymorphic_functions():
    constant = "def @constant[S](%x: S) -> int32 { 1 }\n"
    main = infer(ID + constant + "def @main(%c: bool) { if (%c) { @id } else { @constant } }").main
    assert type_text(main.type) == "fn (bool) -> fn (int32) -> int32"


def test_a_list_of_functions_is_as_general_as_its_least_general_one():
    text = LIST + ID + "def @main(%f: fn (int32) -> int32) { Cons(@id, Cons(%f, Nil)) }"
    assert type_text(infer(text).main.type).endswith("-> List[fn (int32) -> int32]")


def test_found_type_parameters_are_written_into_the_function():
    function = infer("def @main(%x) { %x }").main
    (var,) = function.type_params
    assert isinstance(var, TypeVar)
    assert function.params[0].type is var
    assert function.type == FuncType((var,), var, (var,))


def test_holes_in_annotations_are_filled():
    param = infer(
        "def @main(%x: (_, bool)) { demo.add(%x.0, 1) ; if (True) {%x} else {(1, True)} }"
    )
    assert type_text(param.main.params[0].annotation) == "(int32, bool)"


def test_sharing_is_kept():
    x = Var("x", TensorType((2,), "float32"))
    shared = Call(find_operator("demo.exp"), (x,))
    body = infer_expr(Function((x,), Tuple((shared, shared)))).body
    assert body.fields[0] is body.fields[1]


def test_variables_are_the_same_object_where_bound_and_used():
    function = infer(
        LIST + "def @main(%x: List[int32]) { let %y = %x;"
        " match (%y) { Cons(%h, _) => %h, Nil => 0 } }"
    ).main
    let = function.body
    assert isinstance(let, Let) and isinstance(let.body, Match)
    assert let.value is function.params[0]
    assert let.body.value is let.var
    assert let.body.clauses[0].body is let.body.clauses[0].pattern.patterns[0].var


def test_constant_has_the_type_of_its_array():
    assert infer_expr(Constant(np.zeros((2, 3), "int8"))).type == TensorType((2, 3), "int8")


def test_expression_with_free_annotated_variable():
    expr = infer_expr(parse_expr("free_var %x: Tensor[(2), float32]; demo.exp(%x)"))
    assert type_text(expr.type) == "Tensor[(2,), float32]"


def test_expression_that_calls_a_function_of_an_untyped_module():
    module = parse('#[version = "0.0.5"]\ndef @f(%x: Tensor[(n), bool]) { (%x, 1) }')
    call = Call(GlobalVar("f"), (Constant(np.ones(3, bool)),))
    assert type_text(infer_expr(call, module).type) == "(Tensor[(3,), bool], int32)"


DEPTH = 20_000


def test_deep_chain_of_calls_needs_no_recursion():
    x = expr = Var("x", TensorType((4,), "float32"))
    for _ in range(DEPTH):
        expr = Call(find_operator("demo.add"), (expr, x))
    assert infer_expr(Function((x,), expr)).type.result == x.annotation


def test_deep_chain_of_lets_needs_no_recursion():
    names = [Var("x", TensorType((4,), "float32")), *(Var(f"v{i}") for i in range(DEPTH))]
    expr = names[-1]
    for before, name in reversed(list(pairwise(names))):
        expr = Let(name, Call(find_operator("demo.exp"), (before,)), expr)
    assert infer_expr(Function(names[:1], expr)).type.result == names[0].annotation


def test_unbound_projection_waits_for_its_tuple():
    t = Var("t")
    function = Function((t,), TupleGetItem(t, 0))
    call = Call(function, (Tuple((Constant(np.array(1)), Constant(np.array(True)))),))
    assert infer_expr(call).type == TensorType((), "int64")


def test_self_application_has_no_type():
    with pytest.raises(TypeInferenceError, match="would contain itself"):
        infer("def @main() { fn (%x) { %x(%x) } }")


@pytest.mark.parametrize(("begin", "end"), [("(", ",)"), ("fn () { ", " }"), ("ref(", ")")])
def test_types_nested_without_end(begin, end):
    def typed(depth):
        body = begin * depth + "%x" + end * depth
        return infer_types(parse(f"def @main(%x: int32) {{ {body} }}"))

    assert typed(150).main.type is not None
    message = "from_string:1:.*A type is nested deeper than 200 levels"
    with pytest.raises(TypeInferenceError, match=message):
        typed(1000)


def test_types_nested_by_calls_of_what_is_polymorphic():
    body = "%wrap(" * 1000 + "%x" + ")" * 1000
    text = f"def @main(%x: int32) {{ let %wrap = fn (%a) {{ ref(%a) }}; {body} }}"
    with pytest.raises(TypeInferenceError, match="A type is nested deeper than 200 levels"):
        infer_types(parse(text))


@pytest.mark.parametrize(
    "body",
    [
        "".join(f"let %a{n + 1} = (%a{n}, %a{n}); " for n in range(60)) + "%a60",
        "let %d = fn (%a) { (%a, %a) }; " + "%d(" * 60 + "%a0" + ")" * 60,
    ],
)
def test_types_that_double_end_in_a_message(body):
    with pytest.raises(
        TypeInferenceError, match="from_string:1:.*A type has more than 100,000 parts"
    ):
        infer_types(parse(f"def @main(%a0: int32) {{ {body} }}"))
