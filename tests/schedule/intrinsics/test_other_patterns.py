"""Another pattern than that of matrix registers: dot products of bytes in fours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relay_tune.machine.pattern import TilePattern
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.choices import tile_alternatives, tile_misfit
from relay_tune.schedule.intrinsics.match import IntrinsicMatch, intrinsic_match
from relay_tune.schedule.loops.tile import tile_nest
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, Scalar, cast, reduce
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.tensor import compute, input_tensor

FOURS = TilePattern(
    name="bytes in fours",
    title="vector registers",
    left="uint8",
    right="int8",
    result="int32",
    rows=1,
    columns=8,
    steps=4,
    group=4,
    registers=16,
    most_tile=(6, 2),
    beside=2.0,
)
ROWS, STEPS, BLOCKS = 7, 5, 3


def product_of_bytes() -> tuple[TensorProgram, IntrinsicMatch]:
    """y[m, o] = sum(k) x[m, k] * w[o // 8, k // 4, o % 8, k % 4], its nest on the pattern."""
    x = input_tensor("x", (ROWS, STEPS * 4), "uint8")
    w = input_tensor("w", (BLOCKS, STEPS, 8, 4), "int8")
    k, g = Axis("k", STEPS), Axis("g", 4)

    def element(m: Scalar, b: Scalar, c: Scalar) -> Scalar:
        left, right = x[m, k * 4 + g], w[b, k, c, g]
        return reduce("sum", [k, g], cast(left, "int32") * cast(right, "int32"))

    y = compute("y", (ROWS, BLOCKS, 8), element)
    program = TensorProgram((x, w), (y,), ())
    ((_, match),) = [
        (nest, match)
        for nest in plan_program(program).nests
        if (match := intrinsic_match(replace(nest, pattern=FOURS))) is not None
    ]
    return program, match


def choice_of(match: IntrinsicMatch, rows: int, blocks: int) -> TileChoice:
    nest = match.nest
    tile = {match.row: rows, match.block: blocks, match.column: 8}
    positions = tuple(range(len(nest.axes)))
    return TileChoice(
        vector=nest.axes.index(match.column),
        lanes=8,
        tile=tuple(tile[axis] for axis in nest.axes),
        order=positions,
        blocks=(1,) * len(positions),
        reduction_order=tuple(range(len(nest.reduction))),
        unroll=1,
        parallel=0,
    )


def test_what_stands_where() -> None:
    _, match = product_of_bytes()
    assert (match.row.extent, match.column.extent, match.group.extent) == (ROWS, 8, 4)
    assert match.block is not None and match.block.extent == BLOCKS
    assert (match.stride, match.register_rows, match.operations) == (STEPS * 4, 1, 2)
    assert [axis.extent for axis in match.outer_reduction] == [STEPS]
    found = tile_alternatives(match)
    assert found["tile0"] == (1, 2, 3, 4, 5, 6) and found["tile1"] == (1, 2)


@pytest.mark.parametrize(("rows", "blocks"), [(1, 1), (4, 2), (5, 2), (6, 1)])
def test_tiles_compute_the_product(rows: int, blocks: int) -> None:
    program, match = product_of_bytes()
    choice = choice_of(match, rows, blocks)
    assert tile_misfit(choice, match) is None
    body = tile_nest(match.nest, choice, frozenset()).body
    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, (ROWS, STEPS * 4)).astype(np.uint8)
    w = rng.integers(-128, 128, (BLOCKS, STEPS, 8, 4)).astype(np.int8)
    y = np.zeros(ROWS * BLOCKS * 8, np.int32)
    arrays = dict(zip(program.inputs, (x, w), strict=True))
    loaded = [load.tensor for pair in match.terms for load in pair]
    views = {view: arrays[view.viewed].reshape(-1) for view in loaded if isinstance(view, FlatView)}
    run_loops(body, {**views, match.nest.target: y})
    steps = w.transpose(1, 3, 0, 2).reshape(STEPS * 4, BLOCKS * 8).astype(np.int32)
    np.testing.assert_array_equal(y.reshape(ROWS, -1), x.astype(np.int32) @ steps)


def test_tiles_that_have_no_room() -> None:
    _, match = product_of_bytes()
    assert tile_misfit(choice_of(match, 7, 3), match) == "a tile of 7 x 3 vector registers"
