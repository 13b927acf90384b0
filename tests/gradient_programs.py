"""Functions @f of two numbers, with all that the language has."""

LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"

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
