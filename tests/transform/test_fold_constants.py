"""Calls on constants are computed, and branches that they decide are taken."""

from typing import Any

import pytest

from relay_tune.ir.types import TensorType
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


def test_a_constant_tells_the_sizes_of_what_reads_it(typed: Any) -> None:
    chosen = 'squeeze(argwhere(ones(shape=[3], dtype="bool")), axis=[1])'
    module = typed(f"({V}) {{ exp(take(%x, {chosen}, axis=0)) }}")
    assert FoldConstants()(module).main.body.type == TensorType((3,), "float32")


def test_large_results_are_not_folded(typed: Any) -> None:
    module = typed("(%c: Tensor[(1, 1), float32]) { broadcast_to(%c, shape=[5000, 5000]) }", "c")
    assert FoldConstants()(module) is module


@pytest.mark.parametrize(("dtype", "mebibytes"), [("float16", 1), ("float32", 2), ("float64", 4)])
def test_growth_counts_bytes_of_the_element_type(
    typed: Any, calls: Any, dtype: str, mebibytes: int
) -> None:
    """What does not grow folds however large it is, and 2^19 elements take so many MiB."""
    moved = typed(f"(%c: Tensor[(512, 1024), {dtype}]) {{ transpose(%c) }}", "c")
    assert calls(FoldConstants(maximum_growth=0)(moved)) == []
    text = f"(%c: Tensor[(1, 1), {dtype}]) {{ broadcast_to(%c, shape=[512, 1024]) }}"
    assert calls(FoldConstants(mebibytes)(typed(text, "c"))) == []
    assert calls(FoldConstants(mebibytes - 1)(typed(text, "c"))) == ["broadcast_to"]


def test_parts_of_constants_fold(typed: Any, calls: Any) -> None:
    """What has several results counts as all of them."""
    module = typed(
        "(%c: Tensor[(4, 6), float32]) { split(%c, indices_or_sections=2, axis=1).1 }", "c"
    )
    assert calls(FoldConstants(maximum_growth=0)(module)) == []


W = "%w: Tensor[(5, 4), float16]"


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ('nn.dense(%x, cast(%w, dtype="float32"))', ["cast", "nn.dense"]),
        ('nn.matmul(%x, cast(transpose(%w), dtype="float32"))', ["cast", "nn.matmul"]),
        ('nn.matmul(%x, transpose(cast(%w, dtype="float32")))', ["nn.matmul"]),
        ('add(%x, cast(%w, dtype="float32"))', ["add"]),
        ('nn.dense(cast(%w, dtype="float32"), %x)', ["nn.dense"]),
    ],
)
def test_weights_stay_as_they_are_stored_for_products(
    typed: Any, calls: Any, assert_same_meaning: Any, body: str, kept: list[str]
) -> None:
    before = typed(f"(%x: Tensor[(5, 4), float32], {W}) {{ {body} }}", "w")
    after = FoldConstants()(before)
    assert calls(after) == kept
    assert_same_meaning(before, after)


def test_weights_that_something_else_reads_are_folded(typed: Any, calls: Any) -> None:
    body = 'let %f = cast(%w, dtype="float32"); add(nn.dense(%f, %x), %f)'
    text = f"(%x: Tensor[(4, 4), float32], {W}) {{ {body} }}"
    assert calls(FoldConstants()(typed(text, "w"))) == ["add", "nn.dense"]
