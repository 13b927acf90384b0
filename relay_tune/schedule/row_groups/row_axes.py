"""Which axes of a nest count the rows of a tensor that it stores or loads.

A tensor of R * c elements has R rows of c elements each. An access keeps to rows if some axes of
the nest count them, in order, and all others stay within a row:

    y[h * 128 + s, d]  with R = 1536 rows of 64:  h and s count rows, d does not
    y[i]               with R = 8 rows of 64:     i // 64 counts rows, i % 64 does not
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.size import is_symbolic, nominal, surely_less

NO_ENDS: Mapping[Axis, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RowAxis:
    """An axis that counts rows, or the outer part of one.

    Attributes:
        axis: of the nest.
        extent: how many rows it counts.
        inside: how many of its points lie in one row; 1 if all of the axis counts rows.
    """

    axis: Axis
    extent: int
    inside: int = 1


def row_axes(
    form: Affine,
    axes: Sequence[Axis],
    others: Sequence[Axis],
    rows: int,
    size: int,
    ends: Mapping[Axis, int] = NO_ENDS,
) -> tuple[RowAxis, ...] | None:
    """The axes that count the rows of an access, outermost first; None if it does not keep to rows.

    Args:
        form: the flat index of the access.
        axes: the axes that may count rows.
        others: further axes in the index, those of a reduction.
        rows: the number of rows.
        size: the elements of each.
        ends: where axes end that have more points than the access.
    """
    counting: list[tuple[int, RowAxis]] = []
    low = high = form.constant
    for axis in (*axes, *others):
        factor = form.coefficient(axis)
        points = ends.get(axis, axis.extent)
        if axis not in others and factor > 0 and _reaches_beyond(points, factor, size):
            found = _counting(axis, factor, size)
            if found is None:
                return None
            stride, row_axis = found
            counting.append((stride, row_axis))
            points = row_axis.inside
        reach = factor * (points - 1)
        low, high = (low, high + reach) if factor >= 0 else (low + reach, high)
    if low < 0 or high >= size or set(form.terms) - {*axes, *others}:
        return None
    return _in_order(counting, rows)


def _reaches_beyond(points: int, factor: int, size: int) -> bool:
    """Whether an axis of so many points leaves a row.

    An open one that is no longer than a row for all sizes does not. Others are taken to do so:
    where such an axis has one point, that is one row.
    """
    if is_symbolic(points):
        return not surely_less(factor * points, size + 1)
    return factor * points > size


def _counting(axis: Axis, factor: int, size: int) -> tuple[int, RowAxis] | None:
    """How many rows apart two values of an axis are that reaches beyond one row, and its rows."""
    if factor % size == 0:
        return factor // size, RowAxis(axis, axis.extent)
    if size % factor or axis.extent % (size // factor):
        return None
    inside = size // factor
    return 1, RowAxis(axis, axis.extent // inside, inside)


def _in_order(counting: list[tuple[int, RowAxis]], rows: int) -> tuple[RowAxis, ...] | None:
    """The axes, outermost first, if together they count every row once."""
    counted = 1
    for stride, row_axis in sorted(counting, key=lambda found: nominal(found[0])):
        if stride != counted:
            return None
        counted *= row_axis.extent
    if counted != rows:
        return None
    ordered = sorted(counting, key=lambda found: -nominal(found[0]))
    return tuple(row_axis for _, row_axis in ordered)
