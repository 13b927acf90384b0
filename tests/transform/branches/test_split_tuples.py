"""Tuples that a let names are replaced by their fields."""

import re

from relay_tune.transform.branches.split_tuples import SplitTuples
from tests.transform.language.conftest import Check


def test_a_closure_captures_the_field_it_uses(answer_kept: Check) -> None:
    text = (
        "def @main(%x: int32) { let %t = (%x + 1, %x * 2); "
        "let %f = fn (%y: int32) { %y + %t.1 }; %f(%t.0) }"
    )
    after = answer_kept(SplitTuples(), text, 5)
    assert "%t_1" in after
    assert ".1" not in after


def test_fields_that_are_names_need_no_new_ones(answer_kept: Check) -> None:
    text = "def @main(%x: int32) { let %t = (%x, 3); let %f = fn () { %t.0 }; (%f(), %t) }"
    assert "%t" not in answer_kept(SplitTuples(), text, 5)


def test_a_tuple_in_a_tuple(answer_kept: Check) -> None:
    text = (
        "def @main(%x: int32) { let %t = (%x + 1, %x); let %u = (%t, %x * 2); "
        "let %f = fn () { %u.0.0 * %u.1 }; (%f(), %u) }"
    )
    assert not re.search(r"%[tu]\.[01]", answer_kept(SplitTuples(), text, 5))


def test_fields_keep_their_effects_and_their_order(answer_kept: Check) -> None:
    text = (
        "def @main(%x: int32) { let %r = ref(%x); "
        "let %next = fn () { ref_write(%r, ref_read(%r) * 2 + 1); ref_read(%r) }; "
        "let %t = (%next(), %next()); (%t.1, %t.0, ref_read(%r)) }"
    )
    assert answer_kept(SplitTuples(), text, 5).count("%next()") == 2
