"""Kernels for open sizes give what the operators' references say, at every size."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.dim import Symbol
from relay_tune.op.lower import lower_function
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.loops.open_axes import edge_tiles, register_tiles
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT, AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Binary, Literal, Scalar, Select
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.size import dim_of, is_symbolic, size_value, symbolic_size
from relay_tune.tensor.touched import parallel_iterations, stores_of
from relay_tune.tensor.walk import sub_expressions
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types
from tests.schedule.machines import SERVER
from tests.schedule.open_running import Array, Sizes, random_array, runner, schedule_of
from tests.schedule.running import runnable_targets

ONE = [{"n": n} for n in (1, 2, 7, 16, 31, 33, 70)]
TWO = [{"n": n, "m": m} for n in (1, 5, 33) for m in (1, 16, 19)]
X = "%x: Tensor[(n, 20), float32]"

CASES = [
    ("nn.relu(nn.dense(%x, %w))", f"{X}, %w: Tensor[(50, 20), float32]", ONE),
    ("nn.dense(%x, %w)", "%x: Tensor[(5, n), float32], %w: Tensor[(33, n), float32]", ONE),
    ("nn.dense(%x, %w)", "%x: Tensor[(5, 20), float32], %w: Tensor[(n, 20), float32]", ONE),
    ("nn.softmax(%x)", X, ONE),
    ("nn.softmax(%x)", "%x: Tensor[(3, n), float32]", ONE),
    ("nn.softmax(%x, axis=0)", X, ONE),
    (
        "nn.layer_norm(%x, %g, %g)",
        f"{X}, %g: Tensor[(20), float32]",
        ONE,
    ),
    ("(sum(%x, axis=[0]), mean(%x, axis=[0]), max(%x))", X, ONE),
    ("argmax(%x, axis=[0])", X, ONE),
    ("cumsum(%x, axis=0)", X, ONE),
    ("exp(%x) + %x * 2f", X, ONE),
    ("transpose(%x)", X, ONE),
    ("concatenate((%x, %y), axis=0)", f"{X}, %y: Tensor[(m, 20), float32]", TWO),
    ("concatenate((%x, %y), axis=1)", f"{X}, %y: Tensor[(n, 3), float32]", ONE),
    ("transpose(reshape(%x, newshape=[-1, 4, 5]), axes=[1, 0, 2])", X, ONE),
    ("strided_slice(%x, begin=[0, 2], end=[2147483647, 12])", X, ONE),
    ("nn.pad(%x, 0f, pad_width=[[1, 2], [0, 3]])", X, ONE),
    ("take(%x, %i, axis=0)", f"{X}, %i: Tensor[(m), int32]", TWO),
    ("(shape_of(%x), ndarray_size(%x))", X, ONE),
    (
        "nn.batch_matmul(%x, %y)",
        "%x: Tensor[(2, n, m), float32], %y: Tensor[(2, n, m), float32]",
        TWO,
    ),
    (  # an operand of 32 KiB at the example's size
        "nn.batch_matmul(%x, %y, transpose_b=False)",
        "%x: Tensor[(2, n, m), float32], %y: Tensor[(2, m, 128), float32]",
        TWO,
    ),
    (
        "nn.conv2d(%x, %w, kernel_size=[3, 3], padding=[1, 1, 1, 1], channels=6)",
        "%x: Tensor[(n, 3, 9, 9), float32], %w: Tensor[(6, 3, 3, 3), float32]",
        ONE[:4],
    ),
    (
        "nn.conv2d(%x, %w, kernel_size=[3, 3], padding=[1, 1, 1, 1], channels=6)",
        "%x: Tensor[(1, 3, n, m), float32], %w: Tensor[(6, 3, 3, 3), float32]",
        TWO[:5],
    ),
]


@pytest.mark.parametrize(("body", "parameters", "listed"), CASES)
def test_every_size(body: str, parameters: str, listed: Sequence[Sizes]) -> None:
    module = parse(f"def @main({parameters}) {{ {body} }}")
    main = infer_types(module).main
    rng = np.random.default_rng(0)
    for target in runnable_targets()[:2]:
        scheduled, run = runner(main, listed[0].keys(), target)
        for sizes in listed:
            arrays = [random_array(rng, param.type, sizes) for param in main.params]
            found = run(sizes, arrays)
            expected = interpret(module, *arrays)
            listed_values = expected if isinstance(expected, tuple) else (expected,)
            for ours, theirs in zip(found, listed_values, strict=True):
                assert ours.shape == np.shape(theirs)
                np.testing.assert_allclose(ours, theirs, rtol=3e-5, atol=3e-5, err_msg=str(sizes))
        assert scheduled.kernels


@pytest.mark.parametrize("shares", [True, False])
@pytest.mark.parametrize(("tile", "lanes"), [(1, 1), (6, 1), (14, 1), (16, 16), (64, 16)])
def test_the_tiles_behind_the_last_whole_one_cover_the_rest_once(
    tile: int, lanes: int, shares: bool
) -> None:
    symbol = symbolic_size(Symbol("n"), 100)
    tiles = list(edge_tiles(symbol, tile, lanes, shares=shares))
    for n in range(2 * tile + 1):
        covered = list(range(n // tile * tile))
        for edge in tiles:
            base, extent = (size_value(dim_of(x), {"n": n}) for x in (edge.base, edge.extent))
            if _holds(edge.runs, n):
                covered += range(base, base + extent)
        assert covered == list(range(n))


@pytest.mark.parametrize(
    ("body", "edges"),
    [
        ("nn.relu(%x + %y)", {1, 2, 4, 8}),
        ("nn.dense(%x, %y)", {1, 2, 3, 4, 5, 6, 7, 8}),
    ],
)
def test_rows_that_share_nothing_have_tiles_of_powers_of_two(body: str, edges: set[int]) -> None:
    """Those of a product read the same columns, so that few of them have one tile."""
    shape = "(20, 20)" if "dense" in body else "(n, 20)"
    text = f"def @main({X}, %y: Tensor[{shape}, float32]) {{ transpose({body}) }}"
    module = infer_types(parse(text))
    plan = plan_program(lower_function(module.main, {"n": symbolic_size(Symbol("n"), 64)}))
    *others, _ = plan.default_under_algorithm(SERVER, 1)[1].choices
    nest = plan.nests[-1]
    opened = [axis.extent == 64 for axis in nest.axes]
    tile = tuple(14 if is_open else 16 for is_open in opened)
    order = tuple(range(len(nest.reduction)))
    choice = TileChoice(opened.index(False), 16, tile, (0, 1), (1, 1), order, 1, 0, False)
    kernel = apply_schedule(plan, Schedule((*others, choice))).kernels[-1]
    name = nest.axes[opened.index(True)].name
    found = re.findall(rf"unrolled {name}_i in 0 \.\. (\d+)", kernel_text(kernel))
    assert {int(count) for count in found} == {14, *edges}


@pytest.mark.parametrize("registers", [1, 2, 5])
@pytest.mark.parametrize("step", [1, 49])
def test_registers_behind_the_last_whole_tile_hold_the_rest_once(registers: int, step: int) -> None:
    rows = symbolic_size(Symbol("n"), 100) * step
    tiles = list(register_tiles(rows, 16 * registers, 16))
    for n in range(1, 16 * registers * 2 + 1):
        count = n * step
        covered = list(range(count // (16 * registers) * 16 * registers))
        for edge in tiles:
            base, extent = (size_value(dim_of(x), {"n": n}) for x in (edge.base, edge.extent))
            if _holds(edge.runs, n):
                covered += range(base, base + extent)
                assert edge.registers == (-(-extent // 16) if count >= 16 else 0)
        assert covered == list(range(count))


def _holds(condition: Scalar, n: int) -> bool:
    assert isinstance(condition, Binary)
    if condition.operation == "and":
        return _holds(condition.left, n) and _holds(condition.right, n)
    left, right = (
        size_value(dim_of(side.value), {"n": n})  # type: ignore[attr-defined]
        for side in (condition.left, condition.right)
    )
    return left == right if condition.operation == "eq" else left < right


def convolution(batch: str, rows: str = "18", outputs: int = 64) -> Plan:
    """The plan of a convolution with constant taps whose image has so many rows."""
    text = (
        f"(%x: Tensor[({batch}, {rows}, 18, 32), float32], "
        f"%w: Tensor[(3, 3, 32, {outputs}), float32])"
    )
    call = (
        f"nn.conv2d(%x, %w, kernel_size=[3, 3], channels={outputs}, "
        'data_layout="NHWC", kernel_layout="HWIO")'
    )
    taps = np.random.default_rng(0).standard_normal((3, 3, 32, outputs)).astype("float32")
    module = infer_types(BindParameters({"w": taps})(parse(f"def @main{text} {{ {call} }}")))
    return plan_program(lower_function(module.main, {"n": symbolic_size(Symbol("n"), 64)}))


def test_an_open_batch_may_be_filtered_as_a_fixed_one() -> None:
    fixed, opened = convolution("64").algorithms, convolution("n").algorithms
    assert set(opened) <= set(fixed)
    filtered = {each for each in fixed if "winograd" in str(each)}
    assert {DIRECT, WINOGRAD(tile=4, block=16)} <= {DIRECT, *filtered} <= set(opened)


def test_open_images_are_filtered_in_runs_of_tiles_or_all_at_once() -> None:
    found = convolution("2", rows="n").algorithms
    every = {WINOGRAD(tile=tile, **how) for tile in (2, 4) for how in ({}, {"run": 24})}
    assert {DIRECT, *(each for each in found if "winograd" in str(each))} == {DIRECT, *every}
    assert DIRECT in found


IMAGES = [{"n": n, "m": m} for n in (1, 3, 4, 9) for m in (1, 2, 8, 33)]


@pytest.mark.parametrize(
    ("attributes", "tile"),
    [
        ("padding=[1, 1]", 4),
        ("padding=[1, 1], strides=[2, 2]", 2),
    ],
)
def test_images_of_all_sizes_are_filtered(attributes: str, tile: int) -> None:
    text = (
        "def @main(%x: Tensor[(1, n, m, 16), float32], %w: Tensor[(3, 3, 16, 16), float32]) "
        f"{{ nn.conv2d(%x, %w, kernel_size=[3, 3], channels=16, {attributes}, "
        'data_layout="NHWC", kernel_layout="HWIO") }'
    )
    rng = np.random.default_rng(0)
    taps = rng.standard_normal((3, 3, 16, 16)).astype("float32")
    module = BindParameters({"w": taps})(parse(text))
    main = infer_types(module).main
    scheduled, run = runner(main, ["n", "m"], runnable_targets()[0], WINOGRAD(tile=tile))
    for sizes in IMAGES:
        data = random_array(rng, main.params[0].annotation, sizes)
        (found,) = run(sizes, [data])
        np.testing.assert_allclose(
            found, interpret(module, data), rtol=0, atol=2e-4, err_msg=str(sizes)
        )
    stores = [store for kernel in scheduled.kernels for store in stores_of(kernel.body)]
    values = [store.value for store in stores if store.buffer.name == "winograd_data"]
    assert values  # windows end with what they read
    assert not any(map(_asks_for_size, values))


def _asks_for_size(value: Scalar) -> bool:
    """Whether an element is selected by a size that is open."""
    return any(
        isinstance(node, Literal) and isinstance(node.value, int) and is_symbolic(node.value)
        for select in sub_expressions(value)
        if isinstance(select, Select)
        for node in sub_expressions(select.condition)
    )


def _algorithms(call: str, parameters: str) -> tuple[str, ...]:
    main = infer_types(parse(f"def @main({parameters}) {{ {call} }}")).main
    sizes = {"n": symbolic_size(Symbol("n"), 64)}
    return plan_program(lower_function(main, sizes)).algorithms


def test_open_rows_run_in_small_blocks() -> None:
    found = _algorithms("nn.softmax(%x)", "%x: Tensor[(n, 1000), float32]")
    assert found == (DIRECT, ROWS(block=1), ROWS(block=2), ROWS(block=4))


def test_rows_of_open_length_run_in_no_blocks() -> None:
    assert _algorithms("nn.softmax(%x)", "%x: Tensor[(300, n), float32]") == (DIRECT,)


@pytest.mark.parametrize("parallel", [0, 1, 4])
@pytest.mark.parametrize(
    "algorithm",
    [
        DIRECT,
        pytest.param(
            BF16X3(),
            marks=pytest.mark.skipif(
                not native_target().intrinsics, reason="needs matrix registers"
            ),
        ),
    ],
    ids=str,
)
def test_tiles_of_an_open_axis_run_in_blocks(algorithm: AppliedAlgorithm, parallel: int) -> None:
    """Of 6 or 16 rows, three or two tiles in a block, the columns of which run outside."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((48, 256)).astype("float32")
    text = "def @main(%x: Tensor[(n, 256), float32], %w: Tensor[(48, 256), float32])"
    module = BindParameters({"w": weights})(parse(f"{text} {{ nn.relu(nn.dense(%x, %w)) }}"))
    main, target = infer_types(module).main, native_target()
    _, schedule = schedule_of(main, ["n"], target, 64, algorithm, None)
    *others, last = schedule.choices
    rank = len(last.tile)
    order = (1, 0, *range(2, rank))
    rows, count = (6, 4) if algorithm == DIRECT else (16, 3)
    tile = (rows, *((16,) if algorithm == DIRECT else (1, 16)))
    blocks = (count, *(1,) * (rank - 1))
    last = replace(last, tile=tile, blocks=blocks, order=order, parallel=parallel)
    scheduled, run = runner(main, ["n"], target, replace(schedule, choices=(*others, last)))
    assert "_b in 0 .." in kernel_text(scheduled.kernels[-1]) or parallel or algorithm != DIRECT
    for n in (1, 5, 16, 17, 33, 48, 70, 100, 160):
        x = rng.standard_normal((n, 256)).astype("float32")
        (found,) = run({"n": n}, [x])
        wanted = np.maximum(x @ weights.T, 0)
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3, err_msg=str(n))


def test_a_block_has_no_more_tiles_than_there_are() -> None:
    """The example has 11 blocks of 1,000 tiles; a small input runs its own tiles alone."""
    text = "%x: Tensor[(n, 8), float32], %w: Tensor[(48, 8), float32]"
    main = infer_types(parse(f"def @main({text}) {{ nn.dense(%x, %w) }}")).main
    _, schedule = schedule_of(main, ["n"], native_target(), 44000, DIRECT, None)
    choice = replace(schedule.choices[-1], tile=(4, 16), blocks=(11, 1), order=(1, 0), parallel=3)
    chosen = replace(schedule, choices=(*schedule.choices[:-1], choice))
    scheduled, _ = schedule_of(main, ["n"], native_target(), 44000, chosen, None)
    count = parallel_iterations(scheduled.kernels[-1].body)
    counts = {n: size_value(dim_of(count), {"n": n}) for n in (1, 30, 4000, 4001)}
    assert counts == {1: 3, 30: 24, 4000: 3000, 4001: 6000}


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 30])
def test_what_whole_blocks_leave_runs_row_by_row(n: int) -> None:
    text = "%x: Tensor[(n, 1000), float32]"
    main = infer_types(parse(f"def @main({text}) {{ nn.softmax(%x) }}")).main
    scheduled, run = runner(main, ["n"], runnable_targets()[0])
    assert len(scheduled.kernels) == 1
    data = random_array(np.random.default_rng(n), main.params[0].annotation, {"n": n})
    (found,) = run({"n": n}, [data])
    np.testing.assert_allclose(found, _softmax(data), rtol=1e-4)


def _softmax(data: Array) -> Array:
    powers = np.exp(data - data.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
