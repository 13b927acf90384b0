"""Rows that a member of a group counts by several axes, counted by one."""

from __future__ import annotations

from relay_tune.schedule.nests.build_nests import build_nests
from relay_tune.schedule.nests.inline import Stage
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.row_groups.counted_rows import counted_together
from relay_tune.schedule.row_groups.groups import RowGroup, with_groups
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import Computed, compute, input_tensor
from relay_tune.tensor.walk import loads

ROWS, COLUMNS, CHANNELS = 3, 5, 4


def spread_group() -> RowGroup:
    """Rows of one axis, each of which an image stores four times."""
    x = input_tensor("x", (ROWS * COLUMNS, CHANNELS), "float32")
    scale = input_tensor("scale", (CHANNELS,), "float32")
    tiles = compute("tiles", x.shape, lambda t, c: x[t, c] * scale[c])
    shape = ROWS, 2, COLUMNS, 2, CHANNELS
    image = compute("image", shape, lambda i, r, j, s, c: tiles[i * COLUMNS + j, c] * 2.0)
    assert isinstance(tiles, Computed) and isinstance(image, Computed)
    stages = [Stage(each, each.axes, each.body) for each in (tiles, image)]
    nests = [nest for nest in build_nests(stages, [image]) if isinstance(nest, Nest)]
    (group,) = with_groups(nests, [image], outermost=True)
    assert isinstance(group, RowGroup)
    return group


def test_rows_and_columns_become_one_axis():
    before = spread_group()
    assert [row.extent for row in before.members[1].rows] == [ROWS, COLUMNS]
    tiles, image = counted_together(before).members
    assert tiles is before.members[0]
    ((row,), nest) = image.rows, image.nest
    assert (row.axis, row.extent) == (nest.axes[0], ROWS * COLUMNS)
    (read,) = (load for load in loads(nest.result) if load.tensor.name == "tiles")
    form = axis_affine(read.indices[0])
    assert form is not None and form.coefficient(row.axis) == CHANNELS


def test_results_lie_where_they_lay():
    nest = counted_together(spread_group()).members[1].nest
    rows, *others = nest.axes
    for number in range(ROWS * COLUMNS):
        offset = scalar_value(nest.index, {rows: number, **dict.fromkeys(others, 0)}, {})
        assert offset == (number // COLUMNS * 2 * COLUMNS + number % COLUMNS) * 2 * CHANNELS
