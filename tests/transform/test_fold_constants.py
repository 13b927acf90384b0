"""Calls on constants are computed, and branches that they decide are taken."""

from typing import Any

from relay_tune.transform.fold_constants import FoldConstants

V = "%x: Tensor[(4,), float32]"


def test_constants_fold(typed: Any, calls: Any, assert_same_meaning: Any) -> None:
    before = typed(f"({V}, %c: Tensor[(4,), float32]) {{ add(%x, exp(multiply(%c, 2f))) }}", "c")
    after = FoldConstants()(before)
    assert calls(after) == ["add"]
    assert_same_meaning(before, after)


def test_decided_branch_is_taken(typed: Any, calls: Any) -> None:
    module = typed(f"({V}) {{ if (less(1f, 2f)) {{ exp(%x) }} else {{ tanh(%x) }} }}")
    assert calls(FoldConstants()(module)) == ["exp"]


def test_large_results_are_not_folded(typed: Any) -> None:
    module = typed("(%c: Tensor[(1, 1), float32]) { broadcast_to(%c, shape=[5000, 5000]) }", "c")
    assert FoldConstants()(module) is module
