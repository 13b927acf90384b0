"""How many slices a step takes to keep a limit of memory."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from relay_tune.errors import InputError, MemoryLimitError
from relay_tune.ir.expr import Var
from relay_tune.ir.types import TensorType
from relay_tune.training.slices_within_limit import slices_within_limit

LIMIT = 100
BATCH = [Var("target", TensorType((12,), "int64"))]
"""It has 1, 2, 3, 4, 6 or 12 slices."""


class Steps:
    """Steps by their slices: what each takes, or the least limit that it keeps, or why it is none.

    Attributes:
        built: how many slices steps were made of.
    """

    def __init__(self, steps: Mapping[int, float | MemoryLimitError | InputError]) -> None:
        self.built: list[int] = []
        self._steps = steps

    def made(self, count: int) -> int:
        self.built.append(count)
        step = self._steps[count]
        if isinstance(step, InputError):
            raise step
        return count

    def is_faster(self, count: int, other: int) -> bool:
        new, old = self._steps[count], self._steps[other]
        assert isinstance(new, float) and isinstance(old, float)
        return new < old

    def chosen(self, *strained: int, batch: list[Var] = BATCH, held: int = 0) -> int:
        is_strained = strained.__contains__
        return slices_within_limit(self.made, batch, is_strained, self.is_faster, held)


def least(limit: int) -> MemoryLimitError:
    error = MemoryLimitError("too little")
    error.limit, error.least = LIMIT, limit
    return error


def test_what_is_not_strained_is_taken_at_once() -> None:
    steps = Steps({1: 1.0})
    assert steps.chosen() == 1
    assert steps.built == [1]


def test_the_whole_batch_is_taken_where_it_keeps_the_limit() -> None:
    assert Steps({1: 1.0, 2: 1.2}).chosen(1) == 1
    assert Steps({1: 1.0, 2: InputError("no slices")}).chosen(1) == 1


def test_slices_are_taken_where_the_whole_batch_has_slow_kernels() -> None:
    assert Steps({1: 1.0, 2: 0.7, 3: 0.9}).chosen(1, 2) == 2


def test_more_slices_are_taken_as_long_as_they_are_faster() -> None:
    steps = Steps({1: least(150), 2: 1.0, 3: 0.7, 4: 0.9, 6: 0.8})
    assert steps.chosen(2, 3, 4, 6) == 3
    assert steps.built == [1, 2, 3, 4, 6]
    assert Steps({1: least(150), 2: 1.0, 3: 0.8}).chosen(2) == 3
    assert Steps({1: least(150), 2: 1.0, 3: 1.1}).chosen(2) == 2
    assert Steps({1: 1.0, 2: 1.1, 3: 0.8}).chosen(1, 2) == 3  # two still compute again


def test_slices_that_cannot_be_enough_are_not_tried() -> None:
    steps = Steps({1: least(350), 4: least(110), 6: 1.0})
    assert steps.chosen() == 6
    assert steps.built == [1, 4, 6]


def test_no_slices_are_tried_where_they_hold_more_than_the_limit() -> None:
    steps = Steps({1: least(150), 2: 1.0})
    with pytest.raises(MemoryLimitError):
        steps.chosen(held=LIMIT + 1)
    assert steps.built == [1]


def test_more_slices_that_are_none_leave_those_that_are() -> None:
    assert Steps({1: least(150), 2: 1.0, 3: InputError("samples meet")}).chosen(2) == 2
    assert Steps({1: least(150), 2: 1.0, 3: least(200)}).chosen(2) == 2


def test_a_batch_that_cannot_be_sliced_says_why() -> None:
    with pytest.raises(MemoryLimitError) as caught:
        Steps({1: least(150), 2: InputError("samples meet")}).chosen()
    assert (caught.value.least, caught.value.notes) == (150, ("samples meet",))
    with pytest.raises(MemoryLimitError) as caught:
        Steps({1: least(150)}).chosen(batch=[Var("target", TensorType((), "int64"))])
    assert "no fixed number of samples" in caught.value.notes[0]
    with pytest.raises(InputError, match="no loss"):
        Steps({1: InputError("no loss")}).chosen()
