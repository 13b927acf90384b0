"""Small functions that a let names are inlined."""

import numpy as np
import pytest

from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.transform.language.inline_local import InlineLocal
from tests.transform.language.conftest import Check


def test_a_function_that_is_called_twice_is_gone(answer_kept: Check) -> None:
    text = "def @main(%x: int32) { let %f = fn (%a: int32) { %a * %a }; %f(%x + 1) + %f(3) }"
    after = answer_kept(lambda module: EliminateDeadCode()(InlineLocal()(module)), text, 4)
    assert "fn (" not in after


def test_functions_that_call_functions_collapse(answer_kept: Check) -> None:
    text = (
        "def @main(%x: int32) { let %f = fn (%a: int32) { %a + 1 }; "
        "let %g = fn (%a: int32) { %f(%a) * %f(%a + 2) }; %g(%x) - %f(%x) }"
    )
    after = answer_kept(lambda module: EliminateDeadCode()(InlineLocal()(module)), text, 4)
    assert "fn (" not in after


def test_arguments_are_evaluated_once_and_in_order(answer_kept: Check) -> None:
    text = (
        "def @main(%x: int32) { let %r = ref(%x); "
        "let %next = fn () { ref_write(%r, ref_read(%r) * 2 + 1); ref_read(%r) }; "
        "let %first = fn (%a: int32, %b: int32) { %a - %a * 3 + %b }; "
        "(%first(%next(), %next()), ref_read(%r)) }"
    )
    after = answer_kept(lambda module: EliminateDeadCode()(InlineLocal()(module)), text, 3)
    assert after.count("ref_write(") == 2
    assert "%first" not in after


def test_what_a_function_shares_with_its_outside_is_evaluated_once(answer_kept: Check) -> None:
    text = (
        "def @main(%x: int32) { let %r = ref(%x); %0 = ref_write(%r, ref_read(%r) + 1); "
        "let %f = fn (%a: int32) { (%0, %a + ref_read(%r)).1 }; (%0, %f(1), %f(2)) }"
    )
    after = answer_kept(lambda module: EliminateDeadCode()(InlineLocal()(module)), text, 3)
    assert after.count("ref_write(") == 1
    assert "fn (%a" not in after


def test_recursive_large_and_loosely_typed_functions_stay(answer_kept: Check) -> None:
    recursive = (
        "def @main(%x: int32) { let %f = fn (%n: int32) -> int32 "
        "{ if (%n < 1) { 0 } else { %f(%n - 1) } }; %f(%x) }"
    )
    assert "let %f" in answer_kept(InlineLocal(), recursive, 3)
    plain = "def @main(%x: int32) { let %f = fn (%a: int32) { %a * %a + %a }; %f(%x) }"
    assert "%f(" in answer_kept(InlineLocal(maximum_size=3), plain, 3)
    loose = (
        "def @main() { let %f = fn (%a: Tensor[(?), float32]) { ref(%a) }; "
        "let %r = %f(ones(shape=[2])); ref_write(%r, ones(shape=[3])); ref_read(%r) }"
    )
    assert "%f(" in answer_kept(InlineLocal(), loose)


@pytest.mark.parametrize(
    "body",
    [
        "let %c = fn (%a, %b) { %a + %b }; %c(1f, %x)",
        "let %c = fn (%a, %b) { (%a, %b) }; %c(1f, %x).1",
        "let %c = fn (%a) { %a * 2f }; let %d = fn (%b) { %c(%b) + 1f }; %d(%c(%x))",
        "let %c = fn (%t) { %t.0 + %t.1 }; %c((1f, %x))",
    ],
)
def test_parameters_that_only_calls_gave_types_keep_them(answer_kept: Check, body: str) -> None:
    text = f"def @main(%x: float32) {{ {body} }}"
    after = answer_kept(InlineLocal(), text, np.float32(4))
    assert "%c(" not in after


def test_growth_is_limited(answer_kept: Check) -> None:
    chain = "let %f0 = fn (%a: int32) { %a + 1 }; " + "".join(
        f"let %f{n} = fn (%a: int32) {{ %f{n - 1}(%f{n - 1}(%a)) }}; " for n in range(1, 20)
    )
    text = "def @main(%x: int32) { " + chain + "%f3(%x) }"
    assert len(answer_kept(InlineLocal(), text, 3)) < 20_000
