"""Reverse mode: what programs become, and that the derivatives are those of the programs."""

import numpy as np
import pytest

from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.tuning.tuned_build import build

LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"


def test_a_straight_line_has_no_tape(after):
    module = after(
        "def @f(%x: float32, %y: float32) { %x * %y + %x }\n"
        "def @main(%x: float32, %y: float32) { grad(@f)(%x, %y) }"
    )
    assert not module.types
    assert module.astext() == (
        '#[version = "0.0.5"]\n\n'
        "def @main(%x: float32, %y: float32) {\n"
        "  let %v = multiply(%x, %y);\n"
        "  let %result = add(%v, %x);\n"
        "  %0 = multiply(1f, %y);\n"
        "  %1 = add(1f, %0);\n"
        "  %2 = multiply(1f, %x);\n"
        "  (%result, (%1, %2))\n"
        "}\n"
    )


PROGRAMS = {
    "tuples": "def @f(%x: float64, %y: float64) { let %t = ((%x, %y), %x); "
    "%t.0.1 * %t.1 / %t.0.0 * %t.0.0 }",
    "branches": "def @f(%x: float64, %y: float64) -> float64 { let %v = if (%x < %y) { %x * %y } "
    "else { if (%x < 1f64) { %x } else { %y * %y * %x } }; %v * %v / %x }",
    "recursion": "def @pow(%x: float64, %n: int32) -> float64 { if (%n == 0) { 1f64 } "
    "else { @pow(%x, %n - 1) * %x } }\n"
    "def @f(%x: float64, %y: float64) -> float64 { @pow(%x, 3) * @pow(%y, 2) }",
    "tail_recursion": "def @loop(%x: float64, %n: int32, %a: float64) -> float64 { if (%n == 0) "
    "{ %a } else { @loop(%x, %n - 1, %a * %x + %a) } }\n"
    "def @f(%x: float64, %y: float64) -> float64 { @loop(%x, 4, %y) }",
    "lists": LIST + "def @fold(%l: List[float64], %a: float64) -> float64 { match (%l) { "
    "Cons(%h, %t) => { %h * @fold(%t, %a * %h) }, Nil => { %a }, } }\n"
    "def @f(%x: float64, %y: float64) -> float64 { let %l = Cons(%x, Cons(%y, Cons(%x, Nil))); "
    "@fold(%l, %y) + @fold(%l, %x) }",
    "nested_patterns": LIST + "def @f(%x: float64, %y: float64) -> float64 { "
    "match? (Cons((%x, %y), Nil)) { Cons((%a, _), Nil) => { %a * %a * %y }, } }",
    "trees": "type Tree { Leaf(float64), Node(Tree, Tree), }\n"
    "def @value(%t: Tree) -> float64 { match (%t) { Leaf(%v) => { %v }, "
    "Node(%a, %b) => { @value(%a) * @value(%b) + @value(%a) }, } }\n"
    "def @f(%x: float64, %y: float64) -> float64 { let %l = Node(Leaf(%x), Leaf(%y)); "
    "@value(Node(%l, Node(%l, Leaf(%x)))) }",
    "cells": "def @f(%x: float64, %y: float64) -> float64 { let %r = ref(%x); "
    "let %a = ref_read(%r); let %_ = ref_write(%r, %a * %y); let %b = ref_read(%r); "
    "let %__ = ref_write(%r, %b * %b + %a); ref_read(%r) * %b }",
    "cells_in_loops": "def @loop(%r: ref(float64), %n: int32, %x: float64) -> () { if (%n == 0) "
    "{ () } else { let %_ = ref_write(%r, ref_read(%r) * %x + ref_read(%r)); "
    "@loop(%r, %n - 1, %x * %x) } }\n"
    "def @f(%x: float64, %y: float64) -> float64 { let %r = ref(%y); let %_ = @loop(%r, 3, %x); "
    "ref_read(%r) * %x }",
    "counters": "def @f(%x: float64, %y: float64) -> float64 { let %r = ref(1f64); "
    "let %step = fn (%k: float64) -> float64 { let %_ = ref_write(%r, ref_read(%r) * %k); "
    "ref_read(%r) }; let %a = %step(%x); let %b = %step(%y); let %c = if (%x < %y) { %step(%x) } "
    "else { %a }; %c * %b + ref_read(%r) }",
    "lists_in_cells": LIST
    + "def @sum(%l: List[float64]) -> float64 { match (%l) { Cons(%h, %t) => "
    "{ %h * %h + @sum(%t) }, Nil => { 0f64 }, } }\n"
    "def @f(%x: float64, %y: float64) -> float64 { let %r = ref(Cons(%x, Nil)); "
    "let %_ = ref_write(%r, Cons(%y, ref_read(%r))); @sum(ref_read(%r)) * @sum(ref_read(%r)) }",
    "closures": "def @twice(%g: fn (float64) -> float64, %x: float64) -> float64 { %g(%g(%x)) }\n"
    "def @f(%x: float64, %y: float64) -> float64 { let %g = fn (%a: float64) -> float64 "
    "{ %a * %y }; let %h = if (%x < %y) { %g } else { fn (%b: float64) -> float64 { %b * %x } }; "
    "@twice(%h, %x) }",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("inputs", [(1.5, 2.25), (2.0, 0.75)])
def test_gradients_are_those_of_central_differences(after, difference, name, inputs):
    text = PROGRAMS[name]
    main = "\ndef @main(%x: float64, %y: float64) { grad(@f)(%x, %y) }"
    value, gradients = interpret(after(text + main), *inputs)
    wanted = difference(text, *inputs)
    np.testing.assert_allclose(gradients, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("inputs", [(1.5, 2.25), (2.0, 0.75)])
def test_second_derivatives_are_those_of_central_differences(after, difference, name, inputs):
    text = PROGRAMS[name].replace("@f(", "@inner(")
    text += (
        "\ndef @f(%x: float64, %y: float64) -> float64 { "
        "let %g = grad(@inner)(%x, %y); %g.1.0 * %y + %g.1.1 * %g.1.0 }"
    )
    main = "\ndef @main(%x: float64, %y: float64) { grad(@f)(%x, %y) }"
    value, gradients = interpret(after(text + main), *inputs)
    inner = after(text + "\ndef @main(%x: float64, %y: float64) { @f(%x, %y) }").astext()
    wanted = difference(inner.split("\n", 1)[1], *inputs, step=1e-5)
    np.testing.assert_allclose(gradients, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_native_programs_give_what_the_interpreter_gives(after, name):
    module = after(PROGRAMS[name] + "\ndef @main(%x: float64, %y: float64) { grad(@f)(%x, %y) }")
    for inputs in ((1.5, 2.25), (2.0, 0.75)):
        arrays = [np.float64(each) for each in inputs]
        value, gradients = interpret(module, *arrays)
        found, native = build(module)(*arrays)
        np.testing.assert_allclose(found, value, rtol=1e-12)
        np.testing.assert_allclose(native, gradients, rtol=1e-12)
