"""Dead code and common subexpressions, aware of effects."""

import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import first_difference
from relay_tune.transform.eliminate_common_subexpressions import EliminateCommonSubexpressions
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.typing.infer import infer_types

LIST = "type List[A] { Cons(A, List[A]), Nil } "

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


@pytest.mark.parametrize(
    ("text", "expected"), [case[1:] for case in DEAD], ids=[c[0] for c in DEAD]
)
def test_dead_code(text: str, expected: str) -> None:
    after = EliminateDeadCode()(infer_types(parse(text)))
    assert first_difference(after, parse(expected)) is None


def test_many_lets_take_linear_time() -> None:
    lets = "".join(f"let %x{i + 1} = add(%x{i}, 1);" for i in range(3000))
    module = infer_types(parse(f"def @main(%x0: int32) {{ {lets} 1 }}"))
    assert "let" not in EliminateDeadCode()(module).astext()


COMMON = [
    ("(exp(%x) + 1f) + exp(%x)", "%0 = exp(%x); (%0 + 1f) + %0"),
    (
        "(split(%x, indices_or_sections=1).0, split(%x, indices_or_sections=1).0)",
        "%0 = split(%x, indices_or_sections=1).0; (%0, %0)",
    ),
    (
        "concatenate((%x, exp(%x))) + concatenate((%x, exp(%x)))",
        "%0 = concatenate((%x, exp(%x))); %0 + %0",
    ),
    ("let %r = ref(%x); ref_read(%r) + ref_read(%r)", None),
    ("let %f = fn () { %x }; %f() + %f()", None),
]


@pytest.mark.parametrize(("text", "expected"), COMMON)
def test_common_subexpressions(text: str, expected: str | None) -> None:
    def module(body: str) -> str:
        return f"def @main(%x: Tensor[(2), float32]) {{ {body} }}"

    after = EliminateCommonSubexpressions()(infer_types(parse(module(text))))
    assert after.astext() == parse(module(expected or text)).astext()
