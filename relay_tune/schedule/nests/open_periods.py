"""Axes with whole periods: the last one may end behind the axis.

    before:  y[i] = select(i % 4 < 2, a[i // 4], b[i // 4]) + x[i]        i < n
    after:   the same for i < (n + 3) // 4 * 4, with x[min(i, n - 1)], stored where i < n

The axis can be split then, and the positions of a period written out, by one nest for any size. Of
tiles that lie one after the other each has a period, the last ones of rows and columns too.
Axes of open extent cannot be cut where their last whole period ends; those of fixed extent are
not where an algorithm wants all periods in one nest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial, reduce

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.index_divisions import split_divisions
from relay_tune.schedule.nests.regions import Period, Region, are_lanes, periods
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Load, Scalar, binary
from relay_tune.tensor.index import axis_range, simplify
from relay_tune.tensor.size import (
    ceiling_quotient,
    is_multiple,
    is_symbolic,
    nominal,
    surely_less,
)
from relay_tune.tensor.walk import axes_of, loads, replace_nodes, substitute


@dataclass(frozen=True, eq=False, slots=True)
class _Longer:
    """An axis with whole periods.

    Attributes:
        count: an axis that counts the periods.
        steps: the positions of a period.
        end: the position of the axis behind the last one that counts.
        axis: the axis, which has the positions of all periods.
    """

    count: Axis
    steps: int
    end: int
    axis: Axis

    @property
    def last(self) -> Scalar:
        """The axis, but the last position that counts where it is behind that."""
        return binary("min", self.axis, self.end - 1)

    @property
    def split(self) -> Scalar:
        """The axis as periods and positions in them, which simplify its divisions."""
        return self.count * self.steps + Axis(self.axis.name, self.steps)


def _with_periods(axis: Axis, periods: int, steps: int, end: int) -> _Longer:
    """An axis of that name with so many periods."""
    return _Longer(Axis(axis.name, periods), steps, end, Axis(axis.name, periods * steps))


def with_whole_periods(region: Region, *, longer: bool = False) -> Region:
    """A region whose open axes have whole periods of its selects; itself where they have.

    With `longer`, so have those of fixed extent.
    An axis along which elements are loaded side by side stays: its positions are the lanes of
    vectors, which agree on what is stored.
    """
    found: dict[Axis, _Longer] = {}
    while (period := _ragged(region, longer)) is not None:
        old, steps = period.axis, period.steps
        end = found.pop(old).end if old in found else old.extent
        new = _with_periods(old, ceiling_quotient(old.extent, steps), steps, end)
        found[new.axis] = new
        region = _with_axis(region, old, new.axis)
    counting = {**_whole(region, longer), **found}
    for axis, number in _counted_periods(region, counting).items():
        found.pop(axis, None)
        new = _with_periods(axis, number, counting[axis].steps, counting[axis].end)
        found[new.axis] = new
        region = _with_axis(region, axis, new.axis)
    return _bounded(region, list(found.values())) if found else region


def _whole(region: Region, longer: bool) -> dict[Axis, _Longer]:
    """Axes that have whole periods, those with most positions; with `longer` of any extent."""
    found: dict[Axis, _Longer] = {}
    for period in periods(region, whole=True):
        axis, steps = period.axis, period.steps
        if not (longer or is_symbolic(axis.extent)) or are_lanes(region, axis):
            continue
        if axis not in found or found[axis].steps < steps:
            count = Axis(axis.name, axis.extent // steps)
            found[axis] = _Longer(count, steps, axis.extent, axis)
    return found


def _counted_periods(region: Region, longer: Mapping[Axis, _Longer]) -> dict[Axis, int]:
    """How many periods of an axis the tensors have that count them, where these are more.

    Rows and columns of tiles: a pooling may use no result of the last ones.
    """
    counts = {each.count: axis for axis, each in longer.items()}
    split = {axis: each.split for axis, each in longer.items()}
    found: dict[Axis, int] = {}
    form_of = cache(lambda index: axis_affine(simplify(index, split)))  # loads share indices
    for load in loads(region.body):
        for index, extent in zip(load.indices, load.tensor.shape, strict=True):
            form = form_of(index)
            if form is None or not counts.keys() & form.terms.keys():
                continue
            if form.terms.keys() - {*counts, *region.axes}:
                continue
            steps = sorted(form.terms.items(), key=lambda term: nominal(term[1]))
            ends = [*(step for _, step in steps[1:]), extent]
            for (count, step), end in zip(steps, ends, strict=True):
                if count in counts and is_multiple(end, step):
                    found[counts[count]] = end // step
    return {
        axis: periods
        for axis, periods in found.items()
        if surely_less(longer[axis].count.extent - 1, periods)
    }


def _ragged(region: Region, longer: bool) -> Period | None:
    """A period with which an axis begins and within which it may end; None if none is left.

    That of an open axis; with `longer` of any.
    """
    for period in periods(region):
        axis = period.axis
        if period.first or not (longer or is_symbolic(axis.extent)) or are_lanes(region, axis):
            continue
        if not is_multiple(axis.extent, period.steps):
            return period
    return None


def _with_axis(region: Region, old: Axis, new: Axis) -> Region:
    replaced: dict[Axis, Scalar] = {old: new}
    return Region(
        axes=tuple(new if axis is old else axis for axis in region.axes),
        places=tuple(simplify(index, replaced) for index in region.places),
        body=simplify(region.body, replaced),
    )


def _bounded(region: Region, longer: Sequence[_Longer]) -> Region:
    """A region that says where it is inside, and loads elements of tensors only."""
    split = {each.axis: each.split for each in longer}
    last = {each.axis: each.last for each in longer}
    in_parts = cache(partial(simplify, axes=split))  # loads of a window share most of their indices
    beyond: dict[Scalar, Scalar] = {
        load: substitute(load, last)
        for load in loads(region.body)
        if split.keys() & set(axes_of(load)) and not _lies_in(load, in_parts)
    }
    inside = (binary("lt", each.axis, each.end) for each in longer)
    body = replace_nodes(region.body, beyond)
    return replace(region, body=body, inside=reduce(partial(binary, "and"), inside))


def _lies_in(load: Load, in_parts: Callable[[Scalar], Scalar]) -> bool:
    """Whether a load is of an element of its tensor wherever the axes that are longer are.

    `in_parts` gives an index with these axes as periods and positions in them.
    """
    indices = [in_parts(index) for index in load.indices]
    for index, extent in zip(_undivided(indices), load.tensor.shape, strict=True):
        form = axis_affine(index)
        if form is None:
            return False
        low, high = form.bounds(axis_range)
        if not surely_less(-1, low) or not surely_less(high, extent):
            return False
    return True


def _undivided(indices: Sequence[Scalar]) -> Sequence[Scalar]:
    """Indices by parts of their axes without divisions, which positions of several phases have."""
    return split_divisions(list(dict.fromkeys(axes_of(*indices))), indices)[1]
