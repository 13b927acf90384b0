import numpy as np
import pytest

from relay_tune.schedule.nests.regions import (
    MAXIMUM_REGIONS,
    Region,
    by_phases,
    regions_of,
    whole_periods,
)
from relay_tune.tensor.expression import Axis, Scalar, Select, binary, literal, select
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import input_tensor
from relay_tune.tensor.walk import sub_expressions

I, J = Axis("i", 9), Axis("j", 7)  # noqa: E741
A = input_tensor("a", (9, 7), "float32")
DATA = np.arange(63, dtype="float32").reshape(9, 7) + 1
ZERO = literal(0.0, "float32")


def between(axis: Scalar, low: int, high: int) -> Scalar:
    return binary("and", binary("ge", axis, low), binary("lt", axis, high))


def gathered(regions: list[Region]) -> np.ndarray:
    """The whole tensor, each region written at its positions; every element exactly once."""
    whole, written = np.zeros((9, 7), "float32"), np.zeros((9, 7), int)
    for region in regions:
        shape = tuple(axis.extent for axis in region.axes)
        grid = {
            axis: np.arange(axis.extent).reshape((-1,) + (1,) * (len(shape) - 1 - n))
            for n, axis in enumerate(region.axes)
        }
        arrays = {A: DATA}
        values = np.broadcast_to(scalar_value(region.body, grid, arrays), shape)
        indices = [np.broadcast_to(scalar_value(p, grid, arrays), shape) for p in region.places]
        whole[tuple(indices)] = values
        np.add.at(written, tuple(indices), 1)
    assert np.all(written == 1)
    return whole


def selects(regions: list[Region]) -> int:
    return sum(isinstance(node, Select) for r in regions for node in sub_expressions(r.body))


PAD = select(binary("and", between(I, 1, 8), between(J, 2, 5)), A[I - 1, J - 2], ZERO)
CONCATENATE = select(
    binary("lt", J, 2), A[I, J], select(binary("lt", J, 5), A[I, J - 2] * 2.0, A[I, J - 5])
)
CASES = {
    "no select": (A[I, J] * 2.0, 1),
    "a border on four sides": (PAD, 5),
    "three tensors side by side": (CONCATENATE, 3),
    "padding of a concatenation": (select(between(I, 2, 9), CONCATENATE, ZERO), 4),
    "reversed comparison": (select(binary("gt", literal(3, "int64"), I), A[I, J], ZERO), 2),
    "negative axis": (select(binary("le", 6 - J, 4), A[I, J], ZERO), 2),
    "a stride in the bound": (select(binary("lt", I * 2, 7), A[I, J], ZERO), 2),
    "a stride in the lower bound": (select(binary("ge", I * 3, 7), A[I, J], ZERO), 2),
    "a negative stride": (select(binary("gt", 20 - I * 4, 3), A[I, J], ZERO), 2),
    "a stride and equality of both": (select(binary("le", 8, I * 4 + 1), A[I, J], ZERO), 2),
    "one column": (select(binary("eq", J, 3), A[I, J], ZERO), 3),
}


@pytest.mark.parametrize("case", CASES)
def test_boxes_become_regions(case):
    body, count = CASES[case]
    regions = regions_of([I, J], body)
    assert len(regions) == count
    assert selects(regions) == 0
    np.testing.assert_array_equal(gathered(regions), gathered([Region((I, J), (I, J), body)]))


OPEN = {
    "the condition reads an element": binary("gt", A[I, J], 9.0),
    "every second": binary("eq", I % 2, 0),
    "a triangle": binary("lt", I, J),
    "either": binary("or", binary("lt", I, 2), binary("ge", I, 5)),
    "all but one": binary("ne", J, 3),
}


@pytest.mark.parametrize("case", OPEN)
def test_other_conditions_stay(case):
    body = select(OPEN[case], A[I, J], ZERO)
    regions = regions_of([I, J], body)
    assert selects(regions) == 1 and len(regions) == 1
    np.testing.assert_array_equal(gathered(regions), gathered([Region((I, J), (I, J), body)]))


def test_too_many_regions_are_not_made():
    axis = Axis("n", 2000)
    body: Scalar = ZERO
    for number in range(MAXIMUM_REGIONS + 10):
        body = select(binary("eq", axis, 3 * number + 1), literal(float(number), "float32"), body)
    (region,) = regions_of([axis], body)
    assert region.body is body


PERIODS = {
    "rows by four": (binary("lt", I % 4, 2), [8, 1]),
    "a phase": (binary("eq", (I + 1) % 4, 3), [3, 4, 2]),
    "rows by three, two at a time": (binary("lt", (I * 2) % 6, 3), [9]),
    "rows by two, two at a time": (binary("lt", (I * 2 + 1) % 4, 2), [8, 1]),
    "a phase of rows by two": (binary("lt", (I * 2 + 2) % 4, 2), [1, 8]),
    "steps that leave a period out": (binary("lt", (I * 3) % 4, 2), [9]),
    "columns by two": (binary("lt", J % 2, 1), [6, 1]),
    "whole periods": (binary("lt", I % 3, 1), [9]),
    "a period beyond the extent": (binary("lt", I % 12, 5), [9]),
    "no period": (binary("lt", A[I, J], 3.0), [9]),
}


@pytest.mark.parametrize("case", PERIODS)
def test_axes_are_cut_where_whole_periods_end(case):
    condition, extents = PERIODS[case]
    region = Region((I, J), (I, J), select(condition, A[I, J], A[I, J] * 2.0))
    parts = whole_periods(region)
    index = 1 if case == "columns by two" else 0
    assert [part.axes[index].extent for part in parts] == extents
    np.testing.assert_array_equal(gathered(parts), gathered([region]))


def test_what_is_left_of_a_period_is_split_at_its_parts():
    """Rows in periods of four, of two pairs each: two periods, and a row of the next one."""
    part = (I % 4) // 2
    region = Region((I, J), (I, J), select(binary("lt", part, 1), A[I, J], A[I, J] * 2.0))
    parts = whole_periods(region)
    assert [each.axes[0].extent for each in parts] == [8, 1]
    assert selects(parts) == 1
    np.testing.assert_array_equal(gathered(parts), gathered([region]))


def by_place(axis: Axis, period: int) -> Region:
    """A tensor and its double, in turns along an axis."""
    first = binary("lt", binary("floormod", axis, period), 1)
    return Region((I, J), (I, J), select(first, A[I, J], A[I, J] * 2.0))


def test_places_of_a_period_are_told_apart():
    region = by_place(I, 3)
    parts = by_phases(region)
    assert selects(parts) == 0
    assert [part.axes[1].extent for part in parts] == [2, 1]
    np.testing.assert_array_equal(gathered(parts), gathered([region]))


@pytest.mark.parametrize("region", [by_place(J, 7), by_place(I, 2)], ids=["last axis", "odd"])
def test_places_stay_together(region):
    (part,) = by_phases(region)
    assert part.axes == region.axes
