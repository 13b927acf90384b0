"""The blocks that a cost model is trained on: every kind is a typed network, the same each time."""

from __future__ import annotations

import pytest

from benchmarks.searching.random_blocks import FIRST_BLOCKS, random_block
from relay_tune.typing.infer import infer_types


@pytest.mark.parametrize("number", [*range(9), *range(FIRST_BLOCKS, FIRST_BLOCKS + 4)])
def test_blocks_are_typed_and_the_same_each_time(number: int) -> None:
    block = random_block(0, number)
    infer_types(block)
    assert random_block(0, number).astext() == block.astext()
