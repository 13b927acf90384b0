"""What programs mean, one behaviour each: order of effects, matching, functions in values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay_tune.frontend.relay_text import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.std import prelude
from relay_tune.typing.infer import infer_types


def plain(value: Any) -> Any:
    match value:
        case tuple():
            return tuple(plain(part) for part in value)
        case ConstructorValue():
            return (value.constructor.name, *(plain(part) for part in value.fields))
        case np.ndarray():
            return value.tolist()
        case _:
            return value


def run(text: str) -> Any:
    """The value of a body, or of a module with `@main`, with types and without."""
    source = text if "def @main" in text else f"def @main() {{ {text} }}"
    module = parse(source, base=prelude())
    value = plain(interpret(infer_types(module)))
    assert plain(interpret(module)) == value
    return value


PROGRAMS = {
    "empty tuple": ("()", ()),
    "scalar": ("-3i8", -3),
    "tensor": ("ones(shape=[2, 1])", [[1.0], [1.0]]),
    "nested tuple": ("((1, (2, 3)), ()).0.1.1", 3),
    "let": ("let %x = 1; let %y = %x + 1; (%x, %y)", (1, 2)),
    "let in an argument": ("{ let %x = 2; %x * %x } + { let %x = 3; %x }", 7),
    "let in a let": ("let %x = { let %y = { let %z = 4; %z + 1 }; %y * 2 }; %x", 10),
    "reference": ("ref_read(ref((1, 2)))", (1, 2)),
    "write is unit": ("ref_write(ref(1), 2)", ()),
    "references have identity": (
        "let %a = ref(1); let %b = ref(1); let %c = %a; ref_write(%c, 9); "
        "(ref_read(%a), ref_read(%b))",
        (9, 1),
    ),
    "effects of a tuple go from left to right": (
        "let %r = ref(1); let %t = (ref_write(%r, 2), ref_read(%r), ref_write(%r, 3)); "
        "(%t.1, ref_read(%r))",
        (2, 3),
    ),
    "effects of arguments go from left to right": (
        "let %r = ref(1); let %f = fn (%a: int32, %b: int32) { %a * 10 + %b }; "
        "let %next = fn () { ref_write(%r, ref_read(%r) + 1); ref_read(%r) }; %f(%next(), %next())",
        23,
    ),
    "a shared node happens once": (
        "let %r = ref(0); %0 = { ref_write(%r, ref_read(%r) + 1); ref_read(%r) }; "
        "(%0, %0, ref_read(%r))",
        (1, 1, 1),
    ),
    "only the taken branch happens": (
        "let %r = ref(0); "
        "let %x = if (True) { ref_write(%r, 1); 5 } else { ref_write(%r, 2); 6 }; "
        "(%x, ref_read(%r))",
        (5, 1),
    ),
    "the matched value happens once": (
        "let %r = ref(0); let %make = fn () { ref_write(%r, ref_read(%r) + 1); Some(7) }; "
        "let %x = match (%make()) { None => 0, Some(%v) => %v }; (%x, ref_read(%r))",
        (7, 1),
    ),
    "local function": ("let %f = fn (%x: int32) { %x + 1 }; %f(%f(0))", 2),
    "closures keep what they see": (
        "let %x = 1; let %f = fn () { %x }; let %x = 2; (%f(), %x)",
        (1, 2),
    ),
    "local recursion": (
        "let %down = fn (%n: int32) -> int32 { if (%n < 1) { %n } else { %down(%n - 1) } }; "
        "%down(3000)",
        0,
    ),
    "functions as arguments": (
        "@map(fn (%f: fn (int32) -> int32) { %f(3) }, Cons(fn (%x: int32) { %x * %x }, Nil))",
        ("Cons", 9, ("Nil",)),
    ),
    "function in a tuple": ("(fn (%x: int32) { %x + 1 }, 1).0(4)", 5),
    "function in a reference": (
        "let %r = ref(fn (%x: int32) { %x }); ref_write(%r, fn (%x: int32) { %x * 5 }); "
        "ref_read(%r)(2)",
        10,
    ),
    "wildcard alone": ("match (Some(1)) { _ => 3 }", 3),
    "the first clause that fits is taken": (
        "(match (Some(1)) { _ => 1, Some(_) => 2 }, match (Some(1)) { Some(_) => 2, _ => 1 })",
        (1, 2),
    ),
    "a variable takes the whole value": (
        "match (Some(1)) { %whole => match (%whole) { Some(%x) => %x, None => 0 } }",
        1,
    ),
    "nested patterns": (
        "match ((Some(1), Cons(2, Cons(3, Nil)))) "
        "{ (None, _) => 0, (Some(%a), Cons(_, Cons(%b, Nil))) => { %a * 10 + %b }, _ => 9 }",
        13,
    ),
    "nested matches": (
        "match (Some(Some(4))) { Some(%inner) => match (%inner) { Some(%x) => %x, None => 1 }, "
        "None => 2 }",
        4,
    ),
    "partial match": ("match? (Cons(1, Nil)) { Cons(%x, _) => %x }", 1),
    "constructor as a function": ("@map(Some, Cons(1, Nil))", ("Cons", ("Some", 1), ("Nil",))),
    "operator with several results": (
        "split(ones(shape=[4]), indices_or_sections=2).0",
        [1.0, 1.0],
    ),
    "operator on a tuple": ("stack((1, 2), axis=0)", [1, 2]),
    "operator with a tuple of results": (
        "let %one = ones(shape=[1]); nn.batch_norm(ones(shape=[1, 1]), %one, %one, %one, %one).0",
        [[1.0]],
    ),
    "global function": ("def @main() { @double(21) } def @double(%x: int32) { %x * 2 }", 42),
    "global recursion": (
        "def @main() { @sum_to(4) } "
        "def @sum_to(%n: int32) -> int32 { if (%n == 0) { 0 } else { %n + @sum_to(%n - 1) } }",
        10,
    ),
    "global function as a value": (
        "def @main() { @get()(5) } def @get() { @double } def @double(%x: int32) { %x * 2 }",
        10,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_meaning(name: str) -> None:
    text, expected = PROGRAMS[name]
    assert run(text) == expected
