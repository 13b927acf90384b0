"""What no step of a recursion changes is computed before it."""

import numpy as np
import pytest

from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.hoist_invariants import HoistInvariants
from tests.transform.language.conftest import Check, answer_kept, main_of

__all__ = ["answer_kept"]

ROW = "Tensor[(1, 3), float32]"
C = np.asarray([[1, 2, 0.5]], np.float32)
FIRST = np.asarray([[1, 1, 2]], np.float32)
COUNT = np.int32(2)
HOIST = HoistInvariants()


def _loop(step: str, last: str = "%h") -> str:
    return (
        f"def @main(%c: {ROW}, %first: {ROW}, %count: int32) {{ "
        f"let %write = fn (%h: {ROW}, %n: int32) -> {ROW} {{ "
        f"if (%n < 1) {{ {last} }} else {{ %write({step}, %n - 1) }} }}; "
        "%write(%first, %count) }"
    )


def _inside(after: str) -> str:
    """The text of the function that calls itself."""
    return main_of(after).partition("let %write")[2]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_what_a_step_repeats_is_computed_before(answer_kept: Check, count: int) -> None:
    after = answer_kept(HOIST, _loop("%h * exp(%c)"), C, FIRST, np.int32(count))
    assert "let %invariant = exp(%c);" in after and "exp" not in _inside(after)


def test_what_only_the_last_step_needs_stays(answer_kept: Check) -> None:
    text = _loop("%h * 2f", "%h + exp(%c)")
    after = answer_kept(HOIST, text, C, FIRST, COUNT)
    assert "exp" in _inside(after)


def test_what_grows_stays(answer_kept: Check) -> None:
    text = _loop('%h * broadcast_to(cast(%count, dtype="float32"), shape=[1, 3])')
    after = answer_kept(HOIST, text, C, FIRST, COUNT)
    assert "broadcast_to" in _inside(after)


def test_conversions_of_stored_weights_stay(answer_kept: Check) -> None:
    weight = 'cast(cast(ones(shape=(3, 3), dtype="float32"), dtype="float16"), dtype="float32")'
    text = _loop(f"nn.dense(%h, {weight})")
    after = answer_kept(lambda module: HOIST(FoldConstants()(module)), text, C, FIRST, COUNT)
    assert "cast" in _inside(after)


def test_what_can_fail_stays(answer_kept: Check) -> None:
    text = _loop('%h * exp(take(%c, cast(%count, dtype="int64"), axis=1, mode="raise"))')
    after = answer_kept(HOIST, text, C, FIRST, COUNT)
    assert "take" in _inside(after)


def test_a_product_of_a_concatenation_is_divided(answer_kept: Check) -> None:
    weight = 'ones(shape=(3, 6), dtype="float32")'
    text = _loop(f"nn.dense(concatenate((%c, %h), axis=1), {weight})")
    after = answer_kept(lambda module: HOIST(FoldConstants()(module)), text, C, FIRST, COUNT)
    assert "nn.dense(%c" in main_of(after).partition("let %write")[0]
    assert "nn.dense(%h" in _inside(after) and "concatenate" not in after


def test_an_inner_recursion_leaves_both(answer_kept: Check) -> None:
    text = (
        f"def @main(%c: {ROW}, %first: {ROW}, %count: int32) {{ "
        f"let %write = fn (%h: {ROW}, %n: int32) -> {ROW} {{ if (%n < 1) {{ %h }} else {{ "
        f"let %inner = fn (%g: {ROW}, %m: int32) -> {ROW} {{ if (%m < 1) {{ %g }} else {{ "
        "%inner(%g * exp(%c) + tanh(%h), %m - 1) } }; "
        "%write(%inner(%h, 2), %n - 1) } }; %write(%first, %count) }"
    )
    after = answer_kept(HOIST, text, C, FIRST, COUNT)
    before, inside = main_of(after).partition("let %write")[::2]
    assert "exp" in before and "exp" not in inside
    assert "tanh" in inside.partition("let %inner")[0]
