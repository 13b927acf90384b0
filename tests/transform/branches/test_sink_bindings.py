"""Bindings move into the branch that needs them, but never into functions."""

import numpy as np

from relay_tune.transform.branches.sink_bindings import SinkBindings
from tests.transform.language.conftest import Check

TAKES = "def @call(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%x) } "


def _line(after: str, text: str) -> int:
    return next(number for number, line in enumerate(after.splitlines()) if text in line)


def test_a_closure_and_what_it_captures_move_together(answer_kept: Check) -> None:
    text = TAKES + (
        "def @main(%x: int32) { let %a = %x * 7; let %f = fn (%y: int32) { %y + %a }; "
        "if (%x < 3) { %x } else { @call(%f, %x) } }"
    )
    for value in (2, 5):
        after = answer_kept(SinkBindings(), text, value)
        assert _line(after, "} else {") < _line(after, "let %a") < _line(after, "let %f")


def test_what_both_branches_need_stays(answer_kept: Check) -> None:
    text = TAKES + (
        "def @main(%x: int32) { let %a = %x * 7; let %f = fn (%y: int32) { %y + %a }; "
        "if (%x < 3) { %f(%x) } else { @call(%f, 1) } }"
    )
    after = answer_kept(SinkBindings(), text, 5)
    assert _line(after, "let %a") < _line(after, "if (")


def test_nothing_moves_into_a_function(answer_kept: Check) -> None:
    text = TAKES + (
        "def @main(%x: int32) { let %a = %x * 7; "
        "let %f = fn (%y: int32) { if (%y < 3) { %y } else { %y + %a } }; "
        "@call(%f, %x) + @call(%f, 2) }"
    )
    after = answer_kept(SinkBindings(), text, 5)
    assert _line(after, "let %a") < _line(after, "let %f")


def test_it_stops_at_the_branch_around_the_function(answer_kept: Check) -> None:
    text = TAKES + (
        "def @main(%x: int32) { let %a = %x * 7; if (%x < 3) { %x } else { "
        "let %f = fn (%y: int32) { if (%y < 3) { %y } else { %y + %a } }; "
        "@call(%f, %x) + @call(%f, 2) } }"
    )
    after = answer_kept(SinkBindings(), text, 5)
    assert _line(after, "} else {") < _line(after, "let %a") < _line(after, "let %f")


def test_effects_stay_where_they_are(answer_kept: Check) -> None:
    text = (
        "def @main(%x: int32) { let %r = ref(%x); let %old = ref_read(%r); "
        "ref_write(%r, 0); if (%x < 3) { %x } else { %old + ref_read(%r) } }"
    )
    after = answer_kept(SinkBindings(), text, 5)
    assert _line(after, "ref_read") < _line(after, "if (")


def test_a_recursive_function_stays(answer_kept: Check) -> None:
    text = (
        "def @main(%x: int32) { let %f = fn (%n: int32) -> int32 "
        "{ if (%n < 1) { 0 } else { 1 + %f(%n - 1) } }; if (%x < 3) { %x } else { %f(%x) } }"
    )
    after = answer_kept(SinkBindings(), text, 5)
    assert _line(after, "let %f") < _line(after, "if (%3")


def test_what_an_unread_binding_reads_stays(answer_kept: Check) -> None:
    text = (
        "def @main(%x: Tensor[(2), float32], %n: int32) { "
        "let %open: Tensor[(?), float32] = exp(%x); let %told: Tensor[(2), float32] = abs(%open); "
        "if (%n < 3) { %x } else { %x + sum(%open) } }"
    )
    x = np.array([1, 2], np.float32)
    for value in (2, 5):
        after = answer_kept(SinkBindings(), text, x, value)
        assert _line(after, "let %open") < _line(after, "let %told") < _line(after, "if (")
