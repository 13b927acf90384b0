import random
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from relay_tune.ir.dim import Symbol
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.schedule import misfit
from relay_tune.schedule.space.default_choice import default_choice
from relay_tune.schedule.space.space import NestSpace, nest_space
from relay_tune.tensor.expression import Axis, Tensor, reduce, unary
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER, core, with_rates
from tests.schedule.nest_spaces import AVX2, AVX512, MACHINES, NEON, only_nest, space_of
from tests.schedule.random_choices import point_of_space
from tests.schedule.random_programs import random_program
from tests.schedule.running import program_of


def matmul(m: int, n: int, depth: int) -> tuple[Nest, Tensor]:
    """The nest of a matrix product and its constant right side."""
    a, b = input_tensor("a", (m, depth), "float32"), input_tensor("b", (depth, n), "float32")
    k = Axis("k", depth)
    product = compute("p", (m, n), lambda i, j: reduce("sum", [k], a[i, k] * b[k, j]))
    constants = ((b, np.zeros((depth, n), "float32")),)
    (nest,) = plan_program(TensorProgram((a,), (product,), constants)).nests
    return nest, b


def exp(*shape: int) -> Nest:
    x = input_tensor("x", shape, "float32")
    return only_nest(compute("e", shape, lambda *at: unary("exp", x[at])))


def sums(rows: int, columns: int) -> Nest:
    x, k = input_tensor("x", (rows, columns), "float32"), Axis("k", columns)
    return only_nest(compute("s", (rows,), lambda i: reduce("sum", [k], x[i, k])))


def random_spaces() -> list[NestSpace]:
    spaces = []
    for seed in range(40):
        program = random_program(seed)
        plan = plan_program(program_of(program.outputs, program.feeds, program.constants))
        spaces += plan.spaces(random.Random(seed).choice(sorted(MACHINES.values(), key=repr)), 2)
    return spaces


def test_every_sensible_point_of_a_space_fits_its_nest():
    rng = random.Random(1)
    for space in random_spaces():
        for _ in range(20):
            choice = point_of_space(rng, space)  # one that is not sensible may be too large
            assert not space.is_sensible(choice) or misfit(choice, space.analysis.nest) is None


def test_the_default_choice_is_in_the_space_and_sensible():
    for space in random_spaces():
        chosen = default_choice(space)
        assert misfit(chosen, space.analysis.nest) is None
        found = space.estimate(chosen)
        assert found.accumulators <= space.machine.vectors.registers + 4
        size = prod(len(values) for values in space.values)
        if size <= 3000:
            assert chosen in [space.decode(values) for values in space.combinations()]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("size", [(64, 64, 64), (128, 512, 256), (7, 100, 33), (1, 1000, 512)])
def test_the_default_of_a_matrix_product(machine, size):
    figures = MACHINES[machine]
    nest, weights = matmul(*size)
    space = nest_space(nest, frozenset([weights]), figures, 4)
    chosen = default_choice(space)
    assert space.is_sensible(chosen)
    assert chosen.lanes == figures.vectors.bytes // 4
    estimate = space.estimate(chosen)
    assert estimate.accumulators >= min(6, figures.vectors.registers // 4)
    assert estimate.waste < 1.5


def test_panels_that_come_from_a_slow_cache_are_asked_for():
    """A tile of all rows reads 16 of 64 columns; only fetches make others better."""
    x, w = (input_tensor(*each, "float32") for each in (("x", (32, 16, 512)), ("w", (32, 512, 64))))
    k = Axis("k", 512)
    y = compute("y", (16, 32, 64), lambda i, b, j: reduce("sum", [k], x[b, i, k] * w[b, k, j]))
    (space,) = plan_program(TensorProgram((x, w), (y,), ())).spaces(
        with_rates(SERVER, (110.0, 48.0, 8.0, 8.0)), 1
    )
    choice = default_choice(space)
    assert choice.prefetch and choice.order == (2, 1, 0)


def test_the_default_of_a_product_is_far_better_than_a_single_accumulator():
    nest, weights = matmul(128, 512, 256)
    space = nest_space(nest, frozenset([weights]), AVX512, 4)
    first = space.decode(
        {name: values[0] for name, values in zip(space.names, space.values, strict=True)}
    )
    assert space.estimate(default_choice(space)).cycles * 4 < space.estimate(first).cycles


def test_elementwise_nests_run_along_vectors_of_the_machine():
    assert default_choice(space_of(exp(64, 100))).lanes == 16
    assert default_choice(space_of(exp(64, 100), AVX2)).lanes == 8
    assert default_choice(space_of(exp(64, 100), NEON)).lanes == 4


def test_small_axes_take_the_smallest_vector_that_holds_them():
    assert default_choice(space_of(exp(3))).lanes == 4


def test_long_rows_are_summed_along_the_lanes():
    chosen = default_choice(space_of(sums(4, 10_000)))
    assert chosen.vector == -2 and chosen.lanes == 16 and chosen.unroll > 1


def test_a_scalar_needs_no_vector():
    chosen = default_choice(space_of(exp(1)))
    assert (chosen.vector, chosen.lanes, chosen.tile, chosen.parallel) == (-1, 1, (), 0)


def test_large_nests_are_parallel_and_small_ones_are_not():
    large, _ = matmul(512, 512, 512)
    small, _ = matmul(8, 16, 8)
    assert default_choice(space_of(large)).parallel >= 1
    assert default_choice(space_of(small)).parallel == 0


def test_loops_over_open_axes_may_share_nothing():
    def spaces(rows: int, depth: int) -> NestSpace:
        a, b = (
            input_tensor("a", (rows, depth), "float32"),
            input_tensor("b", (depth, 512), "float32"),
        )
        k = Axis("k", depth)
        product = compute("p", (rows, 512), lambda i, j: reduce("sum", [k], a[i, k] * b[k, j]))
        *_, space = plan_program(TensorProgram((a, b), (product,), ())).spaces(AVX512, 2)
        return space

    rows = symbolic_size(Symbol("n"), 2048)
    chosen = {"tile": (8, 64), "order": (0, 1), "blocks": (1, 1), "vector": 1, "lanes": 16}

    def fused(space: NestSpace) -> int:
        choice = replace(default_choice(space), **chosen)
        return space.with_ahead_and_parallel(choice, prefetch=False).parallel

    assert spaces(rows, 512).opened == (0,)
    assert fused(spaces(2048, 512)) == 1
    assert fused(spaces(rows, 512)) == 2
    assert fused(spaces(rows, 2)) == 1  # columns of 8 rows are too little for two threads


def test_the_parallel_loop_does_not_depend_on_the_number_of_threads():
    nest, _ = matmul(64, 256, 64)
    rng = random.Random(5)
    one, many = space_of(nest, threads=1), space_of(nest, threads=64)
    for _ in range(50):
        values = {
            name: rng.choice(options) for name, options in zip(one.names, one.values, strict=True)
        }
        assert one.decode(values) == many.decode(values)


def test_neighbouring_values_are_similar():
    for space in random_spaces():
        for name, values in zip(space.names, space.values, strict=True):
            assert len(set(values)) == len(values)
            if name.startswith("tile") or name in ("vectors", "unroll"):
                assert list(values) == sorted(values)


def test_windows_that_share_more_than_fits_into_registers_stay_in_the_space() -> None:
    x = input_tensor("x", (16, 16, 64), "float32")
    weight = input_tensor("w", (3, 3, 64), "float32")
    u, v = Axis("u", 3), Axis("v", 3)
    result = compute(
        "depthwise",
        (14, 14, 64),
        lambda i, j, c: reduce("sum", [u, v], x[i + u, j + v, c] * weight[u, v, c]),
    )
    (nest,) = plan_program(program_of([result], {})).nests
    space = nest_space(nest, frozenset(), core(64, 32), 1)
    chosen = {name: values[0] for name, values in zip(space.names, space.values, strict=True)}
    chosen |= {"vector": (2, 16), "vectors": 1, "tile0": 2, "tile1": 7, "unroll": 9}
    assert space.is_sensible(space.decode(chosen))
    assert not space.is_sensible(space.decode(chosen | {"tile0": 7}))


def test_windows_move_inside_of_each_image_of_a_batch() -> None:
    """No tile is of several images, and the loop over them is the outermost."""
    x = input_tensor("x", (64, 16, 16, 64), "float32")
    weight = input_tensor("w", (3, 3, 64), "float32")
    taps = [Axis("u", 3), Axis("v", 3)]
    u, v = taps
    result = compute(
        "depthwise",
        (64, 14, 14, 64),
        lambda n, i, j, c: reduce("sum", taps, x[n, i + u, j + v, c] * weight[u, v, c]),
    )
    space = space_of(only_nest(result))
    values = dict(zip(space.names, space.values, strict=True))
    assert {"tile1", "tile2", "blocks0", "blocks3"} < values.keys()
    assert "tile0" not in values
    assert values["order"] == ((0, 1, 2, 3), (0, 2, 1, 3))


def copy(shape: tuple[int, ...], order: tuple[int, ...]) -> Nest:
    """The nest of a transposed copy."""
    x = input_tensor("x", shape, "float32")
    positions = [order.index(axis) for axis in range(len(shape))]
    turned = tuple(shape[axis] for axis in order)
    return only_nest(
        compute("t", turned, lambda *at: x[tuple(at[position] for position in positions)])
    )


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_transposed_copies_take_squares(machine):
    space = space_of(copy((512, 384), (1, 0)), machine)
    chosen = default_choice(space)
    assert min(chosen.tile) >= 4
    assert space.estimate(chosen).cycles < space.estimate(_row_of(chosen)).cycles


def test_transposed_copies_fill_lines_of_what_they_store():
    x = input_tensor("x", (32, 6, 6, 512), "float32")
    rows = compute("r", (512, 32, 4, 4), lambda c, n, h, w: x[n, h + 1, w + 1, c])
    space = space_of(only_nest(rows), threads=1)
    values = dict(zip(space.names, space.values, strict=True))
    assert values["tile2"] == (1, 2, 4) and "tile1" not in values, "a line is an image of 4x4"
    assert default_choice(space).tile[2] == 4


def _row_of(choice: TileChoice) -> TileChoice:
    """The choice with one vector as its tile."""
    tile = tuple(choice.lanes if n == choice.vector else 1 for n in range(len(choice.tile)))
    return replace(choice, tile=tile)


def test_copies_that_are_contiguous_need_no_tile():
    assert not any(name.startswith("tile") for name in space_of(exp(64, 48)).names)


def test_products_have_no_blocks_beside_windows():
    assert space_of(matmul(512, 512, 512)[0]).analysis.beside_windows == ()


def test_short_rows_are_reduced_several_at_a_time():
    space = space_of(sums(2048, 49), threads=1)
    chosen = default_choice(space)
    assert chosen.vector == -2 and chosen.tile[0] >= 4
    one = replace(chosen, tile=(1,))
    assert space.estimate(chosen).compute_cycles < 0.5 * space.estimate(one).compute_cycles
    odd = space.estimate(replace(chosen, tile=(9,))).compute_cycles  # as many shuffles as 16
    assert space.estimate(replace(chosen, tile=(8,))).compute_cycles < odd


def test_sums_that_are_stored_transposed_have_tiles_of_squares():
    x, part = input_tensor("x", (8, 64, 48), "float32"), Axis("part", 8)
    total = compute("y", (48, 64), lambda i, o: reduce("sum", [part], x[part, o, i]))
    space = space_of(only_nest(total), AVX512)
    values = dict(zip(space.names, space.values, strict=True))
    assert {16} <= set(values["tile0"]) & set(values["tile1"])
    choice = default_choice(space)
    rows = [n for position, n in enumerate(choice.tile) if position != choice.vector]
    assert rows[0] > 1
