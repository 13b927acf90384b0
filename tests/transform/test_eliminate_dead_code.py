"""What nobody uses disappears, unless it has an effect."""

from typing import Any

import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import first_difference, structural_equal
from relay_tune.std import prelude
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.typing.infer import infer_types

V = "%x: Tensor[(4,), float32]"
DEAD = [
    ("dead let", "def @main(%x: int32) { let %a = 1; %x }", "def @main(%x: int32) { %x }"),
    (
        "one live let",
        "def @main(%x: int32) { let %a = %x + 1; let %b = %x + 2; %a + %a }",
        "def @main(%x: int32) { let %a = %x + 1; %a + %a }",
    ),
    (
        "nested let",
        "def @main(%x: int32) { let %a = { let %b = %x; %b }; %x + %a }",
        "def @main(%x: int32) { let %a = { let %b = %x; %b }; %x + %a }",
    ),
    (
        "dead recursion",
        "def @main(%x: int32) { let %f = fn (%n: int32) -> int32 { %f(%n) }; %x }",
        "def @main(%x: int32) { %x }",
    ),
    (
        "live recursion",
        "def @main(%x: int32) { let %f = fn (%n: int32) -> int32 { %f(%n) }; %f(%x) }",
        "def @main(%x: int32) { let %f = fn (%n: int32) -> int32 { %f(%n) }; %f(%x) }",
    ),
    (
        "dead in a projection",
        "def @main(%x: int32) { let %a = (%x, 1); let %b = (%x, 2); %a.0 }",
        "def @main(%x: int32) { let %a = (%x, 1); %a.0 }",
    ),
    (
        "dead in a closure",
        "def @main(%x: int32) { let %f = fn (%y: int32) { let %a = 1; %y }; %f(%x) }",
        "def @main(%x: int32) { let %f = fn (%y: int32) { %y }; %f(%x) }",
    ),
    (
        "dead in a branch",
        "def @main(%x: int32) { if (%x > 0) { let %a = %x; 1 } else { 2 } }",
        "def @main(%x: int32) { if (%x > 0) { 1 } else { 2 } }",
    ),
    (
        "writes stay",
        "def @main(%r: ref(int32)) { let %a = ref_write(%r, 1); let %b = ref_read(%r); 2 }",
        "def @main(%r: ref(int32)) { let %a = ref_write(%r, 1); 2 }",
    ),
    (
        "calls that may write stay",
        "def @f(%r: ref(int32)) { ref_write(%r, 1) } "
        "def @main(%r: ref(int32)) { let %a = @f(%r); 2 }",
        "def @f(%r: ref(int32)) { ref_write(%r, 1) } "
        "def @main(%r: ref(int32)) { let %a = @f(%r); 2 }",
    ),
    (
        "calls in a program without effects go",
        "def @f(%x: int32) { %x } def @main(%x: int32) { let %a = @f(%x); 2 }",
        "def @main(%x: int32) { 2 }",
    ),
    (
        "functions that others use stay",
        "def @g(%x: int32) { %x } def @f(%x: int32) { @g(%x) } def @h(%x: int32) { %x } "
        "def @main(%x: int32) { let %a = @f; %a(%x) }",
        "def @g(%x: int32) { %x } def @f(%x: int32) { @g(%x) } "
        "def @main(%x: int32) { let %a = @f; %a(%x) }",
    ),
]


def test_dead_bindings_and_functions_disappear() -> None:
    text = f"""#[version = "0.0.5"]
def @unused({V}) {{ %x }}
def @used({V}) {{ %x }}
def @main({V}) {{ let %a = exp(%x); let %b = tanh(%a); @used(%x) }}
"""
    after = EliminateDeadCode()(infer_types(parse(text)))
    assert set(after.functions) == {"used", "main"}
    without_lets = text.replace("let %a = exp(%x); let %b = tanh(%a); ", "")
    assert structural_equal(after.main, infer_types(parse(without_lets)).main)


def test_binding_with_an_effect_stays(typed: Any, assert_same_meaning: Any) -> None:
    text = f"({V}) {{ let %r = ref(%x); let %u = ref_write(%r, exp(%x)); ref_read(%r) }}"
    before = typed(text)
    after = EliminateDeadCode()(before)
    assert structural_equal(after, before)
    assert_same_meaning(before, after)


@pytest.mark.parametrize(
    ("text", "expected"), [case[1:] for case in DEAD], ids=[c[0] for c in DEAD]
)
def test_dead_code(text: str, expected: str) -> None:
    after = EliminateDeadCode()(infer_types(parse(text)))
    assert first_difference(after, parse(expected)) is None


def test_of_the_prelude_only_what_is_used_stays() -> None:
    text = "def @main(%l: List[int32]) { @map(fn (%f: _) { %f(%l) }, Cons(@length, Nil)) }"
    after = EliminateDeadCode()(infer_types(parse(text, base=prelude())))
    assert set(after.functions) == {"main", "map", "length", "foldl"}
    unused = parse("def @main(%x: int32) { %x }", base=prelude())
    assert set(EliminateDeadCode()(infer_types(unused)).functions) == {"main"}


def test_many_lets_take_linear_time() -> None:
    lets = "".join(f"let %x{i + 1} = add(%x{i}, 1);" for i in range(3000))
    module = infer_types(parse(f"def @main(%x0: int32) {{ {lets} 1 }}"))
    assert "let" not in EliminateDeadCode()(module).astext()
