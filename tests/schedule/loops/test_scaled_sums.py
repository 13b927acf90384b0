"""Factors of the inner steps of a sum are multiplied once."""

from dataclasses import replace

import pytest

from relay_tune.schedule.loops.scaled_sums import scaled_sum
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, Scalar, cast, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tensor.walk import loads
from tests.schedule.machines import SERVER


def _blocks(rows: int, block: int, blocks: int = 3) -> TensorProgram:
    """Products with int8 weights, of which each block has a scale."""
    x = input_tensor("x", (rows, block * blocks), "float32")
    q = input_tensor("q", (24, block * blocks), "int8")
    s = input_tensor("s", (24, blocks), "float32")
    k = Axis("k", block * blocks)

    def element(i: Scalar, o: Scalar) -> Scalar:
        return reduce("sum", [k], x[i, k] * (cast(q[o, k], "float32") * s[o, k // block]))

    return TensorProgram((x, q, s), (compute("y", (rows, 24), element),), ())


@pytest.mark.parametrize(
    ("rows", "block", "tile", "is_scaled"),
    [(1, 32, None, True), (4, 32, 1, True), (4, 32, 2, False), (1, 4, None, False)],
)
def test_scales_of_blocks(rows: int, block: int, tile: int | None, is_scaled: bool) -> None:
    plan = plan_program(_blocks(rows, block))
    (nest,) = plan.nests
    choice = plan.default_schedule(SERVER, 1).choices[0]
    positions = range(len(nest.reduction))
    vector = len(nest.axes) - 1
    tiles = (8,) if tile is None else (tile, 8)
    choice = replace(choice, vector=vector, tile=tiles, reduction_order=tuple(positions))
    found = scaled_sum(nest, choice)
    assert (found is not None) == is_scaled
    if found is not None:
        assert [load.tensor.name for load in loads(found.factor)] == ["s"]
        assert {load.tensor.name for load in loads(found.term)} == {"x", "q"}
        assert [axis.extent for axis in found.inner] == [block]
