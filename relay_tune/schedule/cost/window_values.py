"""What the written-out steps of a sliding window leave for each other in registers.

A tile of 2 x 7 points under a 3 x 3 window reads 4 x 9 vectors. Its steps go tap row by tap row:
the first one reads the rows 0 and 1 and leaves row 1, 9 vectors, for the second. Within a tap row
the first tap leaves 2 x 6 vectors for the next one. Compiled code was seen to keep as many values
as the larger of the two numbers, and to spill what finds no register.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from relay_tune.remembered import remembered
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis

Carried = tuple[float, int]


def carried_values(
    forms: Sequence[Affine],
    points: Mapping[Axis, int],
    unrolled: Mapping[Axis, int],
) -> tuple[Carried, ...]:
    """For each axis of a window with several steps: values left for later steps, and how often.

    Args:
        forms: of the accesses under the window.
        points: of the tile on each output axis, vectors counting once.
        unrolled: the steps that are written out on each reduction axis, the innermost axis first.
    """
    order = [axis for axis in reversed(list(unrolled)) if unrolled[axis] > 1]
    found: list[Carried] = []
    for position, axis in enumerate(order):
        inside = {step: unrolled[step] for step in order[position + 1 :]}
        values = sum(_left(form, points, (axis, unrolled[axis]), inside) for form in forms)
        times = (unrolled[axis] - 1) * prod(unrolled[step] for step in order[:position])
        found.append((values, times))
    return tuple(found)


def _left(
    form: Affine, points: Mapping[Axis, int], moved: tuple[Axis, int], inside: Mapping[Axis, int]
) -> float:
    """The values of an access that a step along one axis leaves; `inside` are the axes within."""
    window, steps = moved
    if not form.coefficient(window):
        return 0.0
    total, shares = 1.0, False
    for axis, count in points.items():
        factor = form.coefficient(axis)
        if not factor:
            continue
        stride = _stride(factor, form.coefficient(window))
        if stride and stride < steps:
            total, shares = total * _kept(count, stride, steps), True
            continue
        strides = [(_stride(factor, form.coefficient(step)), step) for step in inside]
        within = next(((s, step) for s, step in strides if s and s <= inside[step]), None)
        total *= count if within is None else (count - 1) * within[0] + inside[within[1]]
    return total if shares else 0.0


def _stride(factor: int, step: int) -> int:
    """How many steps of a window two neighbouring points are apart; 0 if no whole number."""
    return factor // step if step and factor % step == 0 else 0


@remembered(1 << 12)
def _kept(points: int, stride: int, steps: int) -> int:
    """The most elements that the first steps have read and later ones read again."""
    starts = [point * stride for point in range(points)]
    most = 0
    for done in range(1, steps):
        before = {start + step for start in starts for step in range(done)}
        after = {start + step for start in starts for step in range(done, steps)}
        most = max(most, len(before & after))
    return most
