"""What the nests around a product touch, fetched during the product."""

import pytest

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.loops.prefetch.fetch import Site
from relay_tune.schedule.loops.prefetch.limits import MOST_LINES
from relay_tune.schedule.loops.prefetch.neighbours import (
    FEWEST_LINES,
    TouchedRows,
    _joined,
    _not_in,
    fetched_beside,
)
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.weight_panels.record import PANELS
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.loops import Prefetch
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.touched import statements
from tests.schedule import products
from tests.schedule.convolutions import SERVER, convolution_program
from tests.schedule.rewrites.winograd.test_volumes import volume

TILES = WINOGRAD(tile=4, block=14)
ROW = 58 * 64
"""Elements of a row of the padded data of a convolution of 64 channels, 56 x 56."""


def blocks_of(program, algorithm=TILES):
    plan = plan_program(program, algorithm)
    return plan, next(step for step in plan.steps if isinstance(step, RowBlocks))


def beside_product(program, constants=frozenset(), algorithm=TILES):
    _, blocks = blocks_of(program, algorithm)
    return fetched_beside(blocks.nests, (*blocks.outer, blocks.base), blocks.rows, constants)


def test_the_next_blocks_data_and_this_blocks_results_are_fetched():
    index, touched = beside_product(convolution_program((1, 56, 56, 64, 64), epilogue="residual"))
    assert index == 1  # data, products, results
    found = {(rows.tensor.name, rows.for_write): rows for rows in touched}
    assert set(found) == {("x", False), ("residual", False), ("add", True)}
    # the next block reads rows 4 to 9 of the data, of which the present one has read 4 and 5
    data = found["x", False]
    assert (data.first, data.levels, data.all_lines) == (6 * ROW, (), 4 * ROW // 16)
    result = found["add", True]
    assert (result.first, result.levels, result.all_lines) == (0, (), 4 * 56 * 64 // 16)
    assert [apart for _, apart in result.terms] == [4 * 56 * 64]


def test_rows_that_lie_apart_are_counted():
    _, touched = beside_product(
        convolution_program((1, 56, 112, 64, 64)), algorithm=WINOGRAD(tile=4, block=14)
    )
    data, result = touched
    assert (result.levels, result.lines) == (((4, 112 * 64),), 56 * 64 // 16)
    assert data.levels == ((6, 114 * 64),)


def test_slices_of_a_volume_are_rows_of_rows():
    _, touched = beside_product(volume((8, 16, 32, 64)), algorithm=WINOGRAD(tile=4, block=4))
    (result,) = [rows for rows in touched if rows.for_write]
    assert result.levels == ((8, 16 * 32 * 64), (4, 32 * 64))
    assert result.lines == 16 * 64 // 16


def test_a_short_product_fetches_nothing():
    _, touched = beside_product(
        convolution_program((1, 24, 24, 16, 16)), algorithm=WINOGRAD(tile=4, block=12)
    )
    assert touched == ()


def test_constants_of_reductions_are_left_to_packing():
    program = convolution_program((1, 56, 56, 64, 64))
    plan, blocks = blocks_of(program)
    _, touched = fetched_beside(
        blocks.nests, (*blocks.outer, blocks.base), blocks.rows, plan.constants
    )
    assert {rows.tensor.viewed for rows in touched}.isdisjoint(plan.constants)


def test_the_loops_of_the_product_fetch():
    plan, _ = blocks_of(convolution_program((1, 56, 56, 64, 64), epilogue="residual"))
    (kernel,) = apply_schedule(plan, plan.default_under_algorithm(SERVER, 1)[1]).kernels
    lines = [line.strip() for line in kernel_text(kernel).splitlines() if "prefetch" in line]
    assert any(line.startswith("prefetch x[") for line in lines)
    assert any(line.startswith("prefetch residual[") for line in lines)
    assert all(line.endswith("for writing") == line.startswith("prefetch add[") for line in lines)


@pytest.mark.parametrize("levels", [((5, 100),), ((5, 1000), (3, 200)), ()])
@pytest.mark.parametrize("turns", [7, 40, 64, 1000])
def test_every_line_is_fetched_once(turns, levels):
    (_, (data, _)) = beside_product(convolution_program((1, 56, 112, 64, 64)))
    rows = TouchedRows(data.tensor, (), 3, levels, 8, for_write=False)
    turn = Axis("turn", turns)
    offsets = []
    for fetch in rows.fetches(Site({}, (turn,), ())):
        used = min([turns, *(limit for _, limit in fetch.limits)])
        fetches = [node for node in statements(fetch.statement) if isinstance(node, Prefetch)]
        offsets += [value_of(f.indices[0], turn, n) for n in range(used) for f in fetches]
    wanted = [3 + 16 * line for line in range(8)]
    for count, apart in reversed(levels):
        wanted = [offset + apart * row for row in range(count) for offset in wanted]
    if len(wanted) > turns * MOST_LINES:
        assert offsets == []
    else:
        assert set(wanted) <= set(offsets)
        assert len(set(offsets)) == len(offsets) < len(wanted) + -(-len(wanted) // turns)


@pytest.mark.parametrize(
    ("piece", "rest"),
    [
        ((0, 5), (0, 5)),
        ((5, 40), (5, 40)),  # its beginning is what counts
        ((10, 15), (15, 15)),
        ((25, 40), (30, 40)),
        ((30, 40), (30, 40)),
        ((115, 200), (130, 200)),
        ((500, 600), (500, 600)),
    ],
)
def test_what_of_a_piece_is_not_known(piece, rest):
    known = _joined([(100, 130), (10, 20), (18, 30)], line=16)
    assert _not_in(piece, known) == rest


def test_pieces_are_looked_up_not_compared_with_all():
    class Counted(list):
        looks = 0

        def __getitem__(self, index):
            Counted.looks += 1
            return super().__getitem__(index)

        def __iter__(self):
            Counted.looks += len(self)
            return super().__iter__()

    known = Counted((100 * n, 100 * n + 10) for n in range(4096))
    assert _not_in((204_805, 204_900), known) == (204_810, 204_900)
    assert Counted.looks < 32


@pytest.mark.parametrize(("dtype", "line"), [("bfloat16", 32), ("int8", 64)])
def test_the_weights_of_the_next_panel_are_fetched_a_line_at_a_time(dtype, line):
    stored = products.stored(128, 256, 96) if dtype == "int8" else products.narrow(128, 256, 96)
    _, blocks = blocks_of(stored, PANELS(columns=48))
    index, touched = fetched_beside(blocks.nests, (blocks.base,), blocks.rows, frozenset())
    assert index == 1  # the products
    weights = next(rows for rows in touched if rows.tensor in {p.tensor for p in blocks.packed})
    assert weights.tensor.dtype == dtype
    assert (weights.first, weights.levels, weights.all_lines) == (48 * 256, (), 48 * 256 // line)


def value_of(index, axis, number):
    return int(scalar_value(index, {axis: number}, {}))


def test_little_is_not_fetched():
    assert FEWEST_LINES > 1
    _, touched = beside_product(convolution_program((1, 56, 56, 64, 64), epilogue="bias and relu"))
    assert all(rows.all_lines >= FEWEST_LINES for rows in touched)
