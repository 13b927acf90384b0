"""Operators that only training needs disappear."""

from typing import Any

from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.simplify_inference import SimplifyInference

V = "%x: Tensor[(4,), float32]"
IMAGE = "%x: Tensor[(1, 4, 6, 6), float32]"


def test_batch_norm_becomes_scale_and_shift(
    typed: Any, calls: Any, assert_same_meaning: Any
) -> None:
    params = ", ".join(f"%{name}: Tensor[(4,), float32]" for name in "gbmv")
    before = typed(f"({IMAGE}, {params}) {{ nn.batch_norm(%x, %g, %b, %m, %v).0 }}", *"gbmv")
    after = FoldConstants()(SimplifyInference()(before))
    assert calls(after) == ["add", "multiply"]
    assert_same_meaning(before, after)


def test_dropout_disappears(typed: Any, calls: Any, assert_same_meaning: Any) -> None:
    before = typed(f"({V}) {{ exp(nn.dropout(%x, rate=0.5f)) }}")
    after = SimplifyInference()(before)
    assert calls(after) == ["exp"]
    assert_same_meaning(before, after)


def test_operator_that_is_kept_stays_whole(typed: Any) -> None:
    module = typed(f"({V}) {{ nn.dropout(%x) }}")
    assert SimplifyInference(keep=frozenset({"nn.dropout"}))(module) is module
