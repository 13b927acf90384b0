"""Axes in parts where indices are divided."""

from __future__ import annotations

import pytest

from relay_tune.schedule.nests.index_divisions import split_divisions
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.expression_text import scalar_text


def test_a_divided_axis_becomes_two() -> None:
    i, j = Axis("i", 12), Axis("j", 5)
    parts, roots = split_divisions([i, j], [i // 4 * 5 + j, i % 4])
    assert parts[j] == (j,)
    assert [(part.name, part.extent) for part in parts[i]] == [("io", 3), ("ii", 4)]
    assert [scalar_text(root).text for root in roots] == ["io * 5 + j", "ii"]


def test_parts_are_divided_again() -> None:
    i = Axis("i", 24)
    parts, _ = split_divisions([i], [i // 12, i // 4 % 3, i % 4])
    assert [part.extent for part in parts[i]] == [2, 3, 4]


@pytest.mark.parametrize("divisor", [5, 24])
def test_an_axis_that_does_not_fall_into_such_parts_stays(divisor: int) -> None:
    i = Axis("i", 12)
    parts, roots = split_divisions([i], [i % divisor])
    assert parts[i] == (i,)
    assert len(roots) == 1
