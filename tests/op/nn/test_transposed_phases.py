"""Phases of a transposed convolution: which taps meet which elements, for shapes of any kind."""

from __future__ import annotations

from itertools import product

import pytest

from relay_tune.op.nn.transposed_phases import Phases, phases_of
from relay_tune.tensor.expression import INDEX, Scalar, literal
from relay_tune.tensor.scalar_value import scalar_value


def number(value: Scalar) -> int:
    return int(scalar_value(value, {}, {}))


def products(phases: Phases, position: int, size: int) -> set[tuple[int, int]]:
    """The elements of the data and the taps that a position of the result is the sum of."""
    block, phase = divmod(position, phases.stride)
    found: set[tuple[int, int]] = set()
    for group in phases.groups:
        at = literal(phase, INDEX)
        if not number(group.holds(at)):
            continue
        own = literal(number(group.number(at)), INDEX)
        for tap in range(group.taps):
            later = (group.taps - 1 - tap) * phases.tap_step
            index = block + number(group.start(own)) + tap * phases.step
            assert 0 <= index < phases.extent
            if 0 <= index - phases.before < size:
                found.add((index - phases.before, number(group.first_tap(own)) + later))
    return found


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("window", [1, 2, 3, 5])
def test_every_product_is_taken_once_and_no_other(size: int, window: int) -> None:
    for stride, dilation, cut, extra in product((1, 2, 3, 4), (1, 2, 3), (0, 1, 3), (0, 2)):
        output = (size - 1) * stride + (window - 1) * dilation + 1 - cut + extra
        if output < 1:
            continue
        phases = phases_of(size, window, stride, dilation, cut, output)
        for position in range(output):
            expected = {
                (i, k)
                for i, k in product(range(size), range(window))
                if position + cut == stride * i + dilation * k
            }
            assert products(phases, position, size) == expected
        reached = {position % phases.stride for position in range(output)}
        covered = sum(group.count for group in phases.groups)
        assert phases.is_covered == (covered == len(reached))


def test_phases_with_equally_many_taps_are_one_group() -> None:
    (even,) = phases_of(8, 4, 2, 1, 1, 16).groups
    assert (even.taps, even.count) == (2, 2)
    groups = phases_of(8, 3, 2, 1, 1, 16).groups
    assert sorted((group.taps, group.count) for group in groups) == [(1, 1), (2, 1)]


def test_enormous_strides_cost_what_their_taps_do() -> None:
    phases = phases_of(8, 3, 10**12, 1, 0, 10**13)
    assert [(group.count, group.taps) for group in phases.groups] == [(3, 1)]
    assert not phases.is_covered
