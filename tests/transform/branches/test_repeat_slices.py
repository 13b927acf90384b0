"""Slices stand in the branches that use them."""

import numpy as np

from relay_tune.transform.branches.repeat_slices import RepeatSlices
from tests.transform.language.conftest import Check

HEAD = "def @main(%x: Tensor[(1, 8), float32], %c: bool) { "
SLICE = "%0 = strided_slice(%x, begin=[0], end=[4], axes=[1]); "
X = np.arange(8, dtype=np.float32)[None]


def test_each_branch_has_its_own(answer_kept: Check) -> None:
    text = HEAD + SLICE + "if (%c) { exp(%0) + %0 } else { negative(%0) } }"
    assert answer_kept(RepeatSlices(), text, X, True).count("strided_slice") == 2


def test_one_that_is_used_before_stays_one(answer_kept: Check) -> None:
    text = HEAD + SLICE + "%1 = if (%c) { exp(%0) } else { negative(%0) }; %1 + %0 }"
    assert answer_kept(RepeatSlices(), text, X, False).count("strided_slice") == 1


def test_branches_of_a_branch_are_one(answer_kept: Check) -> None:
    text = (
        HEAD
        + SLICE
        + ("if (%c) { if (sum(%0) < 3f) { exp(%0) } else { log(%0) } } else { negative(%0) } }")
    )
    assert answer_kept(RepeatSlices(), text, X, True).count("strided_slice") == 2


def test_a_slice_of_a_slice(answer_kept: Check) -> None:
    inner = "%1 = strided_slice(%0, begin=[1], end=[3], axes=[1]); "
    text = HEAD + SLICE + inner + "if (%c) { exp(%1) } else { negative(%1) } }"
    assert answer_kept(RepeatSlices(), text, X, True).count("strided_slice") in (3, 4)
