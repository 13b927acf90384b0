"""Open axes with whole periods: the positions behind their ends are computed, but not stored."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from relay_tune.ir.dim import Symbol
from relay_tune.schedule.nests import open_periods
from relay_tune.schedule.nests.open_periods import with_whole_periods
from relay_tune.schedule.nests.regions import Region, whole_periods
from relay_tune.tensor.expression import Axis, Binary, Scalar, binary, select
from relay_tune.tensor.size import dim_of, size_value, symbolic_size
from relay_tune.tensor.tensor import input_tensor
from relay_tune.tensor.walk import loads, sub_expressions

HEIGHT, WIDTH = (symbolic_size(Symbol(name), 64) for name in "hw")


def pixels(shrink: int, last: str, size: tuple[int, int] = (HEIGHT, WIDTH)) -> Region:
    """What tiles of 4x4 pixels have in each `shrink`-th one, beside an image of that size."""
    h, w, c = Axis("h", size[0] // shrink), Axis("w", size[1] // shrink), Axis("c", 16)
    rows, columns = (size[0] + 3) // 4, (size[1] + 3) // 4
    tiles = input_tensor("tiles", (rows * columns, 16), "float32")
    beside = input_tensor("beside", (h.extent, w.extent, 16), "float32")
    y, x = h * shrink, w * shrink
    read = tiles[y // 4 * columns + x // 4, c]
    value: Scalar = read
    for at in (y, x):
        value = select(binary("lt", at % 4, 1), value, 0.0)
    axes = (h, w, c) if last == "c" else (c, h, w)
    return Region(axes, axes, value + beside[h, w, c])


@pytest.mark.parametrize("last", ["c", "w"])
@pytest.mark.parametrize("shrink", [1, 2])
def test_axes_have_whole_periods(shrink: int, last: str) -> None:
    region = with_whole_periods(pixels(shrink, last))
    assert region.inside is not None
    extents = {axis.name: axis.extent for axis in region.axes}
    for name in "hw":
        for number in (1, 4, 9, 17):
            periods = size_value(dim_of(extents[name]), {name: number}) // (4 // shrink)
            assert periods == -(-number // 4)  # of all tiles, also where pixels are left out


def test_axes_of_fixed_extent_have_as_many_periods_as_there_are_tiles() -> None:
    region = pixels(2, "c", (161, 223))  # 80x111: the last row of tiles has none of these pixels
    assert with_whole_periods(region) is region
    longer = with_whole_periods(region, longer=True)
    assert [axis.extent for axis in longer.axes] == [41 * 2, 56 * 2, 16]
    assert whole_periods(region, longer=True) == [region]


def test_only_loads_behind_the_end_are_bounded() -> None:
    region = with_whole_periods(pixels(1, "c"))
    bounded = {
        load.tensor.name
        for load in loads(region.body)
        if any(isinstance(n, Binary) and n.operation == "min" for n in sub_expressions(load))
    }
    assert bounded == {"beside"}


def test_lanes_are_not_longer() -> None:
    w = Axis("w", WIDTH)
    data = input_tensor("data", (WIDTH,), "float32")
    region = Region((w,), (w,), select(binary("lt", w % 2, 1), data[w], 0.0))
    assert with_whole_periods(region) is region


def test_indices_that_loads_share_are_simplified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    simplified: list[Scalar] = []
    simplify = open_periods.simplify

    def counted(root: Scalar, axes: Mapping[Axis, Scalar]) -> Scalar:
        simplified.append(root)
        return simplify(root, axes)

    monkeypatch.setattr(open_periods, "simplify", counted)
    numbers = []
    for count in (1, 9):
        region = pixels(1, "c")
        others = [input_tensor("other", (HEIGHT, WIDTH, 16), "float32") for _ in range(count)]
        body = sum((other[region.axes] for other in others), start=region.body)
        with_whole_periods(Region(region.axes, region.places, body))
        numbers.append(len(simplified))
        simplified.clear()
    assert numbers[0] == numbers[1]
