"""A-normal form, basic-block normal form, and the way back to a graph."""

import pytest

from relay_tune.ir.parser.parse import parse, parse_expr
from relay_tune.ir.structural import structural_equal
from relay_tune.transform.language.a_normal_form import ToANormalForm, is_a_normal_form
from relay_tune.transform.language.basic_block_normal_form import (
    ToBasicBlockNormalForm,
    is_basic_block_normal_form,
)
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.typing.infer import infer_types
from tests.transform.language.conftest import Check

PROGRAMS = {
    "order": ("def @main(%x: int32) { (%x * 2) + ((%x - 1) * (%x + 3)) }", 5),
    "if": ("def @main(%x: int32) { if (%x > 0) { %x + 1 } else { %x - 1 } }", 5),
    "nested if": (
        "def @main(%x: int32) { %0 = %x * 3; if (%x > 0) { if (%x > 2) { %0 + 1 } else { %0 } }"
        " else { %0 - 1 } }",
        5,
    ),
    "let as a subexpression": ("def @main(%x: int32) { 1 + { let %y = %x + 1; %y * %y } }", 5),
    "recursion": (
        "def @f(%n: int32, %x: int32) -> int32 { if (%n == 0) { %x } else { @f(%n - 1, %x * 2) } }"
        " def @main(%x: int32) { @f(5, %x) }",
        5,
    ),
    "local recursion": (
        "def @main(%x: int32) { let %f = fn (%n: int32) -> int32 {"
        " if (%n == 0) { 0 } else { %n + %f(%n - 1) } }; %f(%x) }",
        5,
    ),
    "ref": (
        "def @main(%x: int32) { let %r = ref(%x); let %a = ref_read(%r);"
        " ref_write(%r, 7); %a - ref_read(%r) }",
        5,
    ),
    "order of effects in operands": (
        "def @main(%x: int32) { let %r = ref(%x);"
        " ref_read(%r) - { ref_write(%r, 7); ref_read(%r) * 2 } }",
        5,
    ),
    "data": ("def @main(%x: int32) { @count(@plus(Succ(Succ(Zero)), Succ(Zero))) + %x }", 5),
    "function": ("def @main(%x: int32) { let %f = fn (%a: int32) { %a + (%x * 2) }; %f(%x) }", 5),
    "higher-order return": (
        "def @main(%x: int32) { %0 = %x * %x; let %f = fn (%a: int32) {"
        " fn (%b: int32) { (%a + %b) + %0 } }; %f(1)(2) + %0 }",
        5,
    ),
    "value used in two clauses": (
        "def @main(%x: int32) { %0 = %x + 1; match (Cons(%0, Nil)) {"
        " Cons(%h, _) => %h + %0, Nil => %0 } }",
        5,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_normal_form(name: str, answer_kept: Check) -> None:
    text, x = PROGRAMS[name]
    after = parse(answer_kept(ToANormalForm(), text, x))
    assert all(map(is_a_normal_form, after.functions.values()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_basic_block_normal_form(name: str, answer_kept: Check) -> None:
    text, x = PROGRAMS[name]
    after = parse(answer_kept(ToBasicBlockNormalForm(), text, x))
    assert all(map(is_basic_block_normal_form, after.functions.values()))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("step", [ToANormalForm(), ToBasicBlockNormalForm()], ids=lambda s: s.name)
def test_normal_forms_are_final(name: str, step: ToANormalForm) -> None:
    text, _ = PROGRAMS[name]
    from_text = parse(text) if "Zero" not in text and "Cons" not in text else None
    if from_text is not None:
        once = step(infer_types(from_text))
        assert structural_equal(step(once), once)


def test_bindings_stand_in_the_order_of_evaluation(answer_kept: Check) -> None:
    text = answer_kept(ToANormalForm(), *PROGRAMS["order"])
    assert text.splitlines() == [
        "def @main(%x: int32) {",
        "  let %v = multiply(%x, 2);",
        "  let %v_1 = subtract(%x, 1);",
        "  let %v_2 = add(%x, 3);",
        "  let %v_3 = multiply(%v_1, %v_2);",
        "  add(%v, %v_3)",
        "}",
    ]


def test_call_in_tail_position_stays_there(answer_kept: Check) -> None:
    text = answer_kept(ToANormalForm(), *PROGRAMS["recursion"])
    assert "    @f(%v_1, %v_2)\n" in text


def test_an_annotated_alias_keeps_its_type() -> None:
    text = "def @main(%x: Tensor[(3), int32]) { let %y: Tensor[(?), int32] = %x; %y + 1 }"
    module = ToANormalForm()(infer_types(parse(text)))
    assert "let %y: Tensor[(?), int32] = %x" in module.astext()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fn (%x: int32) { %0 = %x + 1; %0 * %0 }", True),
        ("fn (%x: int32) { let %y = %x + 1; if (%x > 0) { %y } else { %y } }", True),
        ("fn (%x: int32) { %0 = %x + 1; if (%x > 0) { %0 } else { %0 } }", False),
        ("fn (%x: int32) { %0 = %x > 0; if (%0) { %0 } else { False } }", False),
        ("fn (%x: int32) { %0 = %x + 1; (fn () { %0 }, %0) }", False),
        ("fn (%x: int32) { %0 = %x + 1; fn () { %0 } }", True),
        ("fn (%x: int32) { %0 = %x + 1; fn () { fn () { %0 * %0 } } }", True),
        ("fn (%x: int32) { %0 = %x + 1; fn () { (fn () { %0 }, %0) } }", False),
    ],
)
def test_what_basic_block_normal_form_is(text: str, expected: bool) -> None:
    assert is_basic_block_normal_form(parse_expr(text)) is expected


def test_only_what_blocks_share_is_bound(answer_kept: Check) -> None:
    text = answer_kept(ToBasicBlockNormalForm(), *PROGRAMS["nested if"])
    assert text.count("let ") == 1


def test_a_program_whose_blocks_share_nothing_is_kept() -> None:
    module = infer_types(parse("def @main(%x: int32) { %0 = %x + 1; %0 * %0 }"))
    assert ToBasicBlockNormalForm()(module) is module


def test_the_graph_shares_what_was_bound() -> None:
    text = "def @main(%x: int32) { let %a = %x + 1; let %b = %a * %a; (%b, %b) }"
    expected = "def @main(%x: int32) { %0 = %x + 1; %1 = %0 * %0; (%1, %1) }"
    after = ToGraphNormalForm()(infer_types(parse(text)))
    assert structural_equal(after, parse(expected)) and "let" not in after.astext()


def test_from_a_graph_to_bindings_and_back() -> None:
    text = "def @main(%x: int32) { %0 = %x + 1; %1 = %0 * %0; (%1, (%0, %1 - %x)) }"
    module = infer_types(parse(text))
    assert ToGraphNormalForm()(ToANormalForm()(module)).astext() == module.astext()


def test_long_chains_need_no_recursion() -> None:
    steps = "".join(f"%{i + 1} = add(%{i}, 1);" for i in range(3000))
    module = infer_types(parse(f"def @main(%x: int32) {{ %0 = add(%x, 1); {steps} %3000 }}"))
    bound = ToANormalForm()(module)
    assert structural_equal(ToGraphNormalForm()(bound), module)
