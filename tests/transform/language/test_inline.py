"""Which functions are inlined, and what is left."""

import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.transform.language.inline import Inline
from relay_tune.typing.infer import infer_types
from tests.transform.language.conftest import Check

LEAF = "def @leaf(%a: int32, Inline=1) -> int32 { %a + 1 } "


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        (LEAF + "def @main(%x: int32) { @leaf(%x) }", ["main"]),
        (
            LEAF + "def @mid(%a: int32, Inline=1) -> int32 { @leaf(%a) * 2 } "
            "def @main(%x: int32) { @mid(%x) }",
            ["main"],
        ),
        (
            LEAF + "def @mid(%a: int32) -> int32 { @leaf(%a) * 2 } "
            "def @main(%x: int32) { @mid(%x) }",
            ["main", "mid"],
        ),
        (
            "def @down(%n: int32, Inline=1) -> int32 "
            "{ if (%n < 1) { 0 } else { @down(%n - 1) } } def @main(%x: int32) { @down(%x) }",
            ["down", "main"],
        ),
        (
            "def @even(%n: int32, Inline=1) -> bool { if (%n < 1) { True } else { @odd(%n - 1) } }"
            "def @odd(%n: int32, Inline=1) -> bool { if (%n < 1) { False } else { @even(%n - 1) } }"
            "def @main(%x: int32) { @even(%x) }",
            ["even", "main", "odd"],
        ),
        (
            LEAF + "def @f(%a: int32) -> int32 { @leaf(%a) } "
            "def @main(%x: int32) { @leaf(%x) + @f(@leaf(2)) }",
            ["f", "main"],
        ),
        (
            "def @other(%a: int32) -> int32 { %a } def @main(%x: int32) { @other(%x) }",
            ["main", "other"],
        ),
        (
            'def @leaf(%a: int32, Inline=1, Compiler="a") -> int32 { %a + 1 } '
            "def @main(%x: int32) { @leaf(%x) }",
            ["leaf", "main"],
        ),
        ("def @main(%x: int32, Inline=1) { %x + 1 }", ["main"]),
        (
            LEAF + "def @apply(%f: fn (int32) -> int32, %a: int32) -> int32 { %f(%a) } "
            "def @main(%x: int32) { @apply(@leaf, %x) }",
            ["apply", "main"],
        ),
        (LEAF + "def @main(%x: int32) { let %f = @leaf; %f(%x) }", ["main"]),
    ],
)
def test_functions_that_are_left(text: str, functions: list[str], answer_kept: Check) -> None:
    after = parse(answer_kept(Inline(), text, 3))
    assert sorted(after.functions) == functions


def test_arguments_are_evaluated_once_and_in_order(answer_kept: Check) -> None:
    text = (
        "def @first(%a: int32, %b: int32, Inline=1) -> int32 { %a - (%a * 3) } "
        "def @main(%x: int32) { let %r = ref(%x); let %bump = fn () { "
        "ref_write(%r, ref_read(%r) + 1); ref_read(%r) }; "
        "@first(%bump(), %bump()) + ref_read(%r) }"
    )
    assert answer_kept(Inline(), text, 3).count("%bump()") == 2


def test_small_functions_need_no_mark(answer_kept: Check) -> None:
    text = "def @small(%a: int32) -> int32 { %a + 1 } def @main(%x: int32) { @small(%x) }"
    assert "@small" not in answer_kept(Inline(maximum_size=5), text, 3)
    assert "@small" in answer_kept(Inline(maximum_size=2), text, 3)


def test_types_of_a_polymorphic_function_are_filled_in(answer_kept: Check) -> None:
    text = (
        "def @pair[A](%a: A, Inline=1) -> (A, A) { let %p: (A, A) = (%a, %a); %p } "
        "def @main(%x: int32) { (@pair(%x), @pair(True)) }"
    )
    after = answer_kept(Inline(), text, 3)
    assert "(int32, int32)" in after and "(bool, bool)" in after


def test_nothing_to_inline_is_the_same_module() -> None:
    module = infer_types(parse("def @main(%x: int32) { %x }"))
    assert Inline()(module) is module
