"""Which nests run together row by row, and what they leave each other."""

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import Plan, plan_program, read_schedule
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Tensor, binary, literal, reduce, select, unary
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tensor.touched import has_parallel_loop
from tests.schedule.machines import SERVER
from tests.schedule.running import run_schedule


def softmax_of(x: Tensor, operation: str = "exp") -> Tensor:
    k, n = Axis("k", x.shape[-1]), Axis("n", x.shape[-1])
    highest = compute("highest", x.shape[:-1], lambda *at: reduce("max", [k], x[(*at, k)]))
    powers = compute("powers", x.shape, lambda *at: unary(operation, x[at] - highest[at[:-1]]))
    total = compute("total", x.shape[:-1], lambda *at: reduce("sum", [n], powers[(*at, n)]))
    return compute("softmax", x.shape, lambda *at: powers[at] / total[at[:-1]])


def attention(heads: int, rows: int, keys: int, depth: int) -> TensorProgram:
    q, k, v = (
        input_tensor(name, (heads, extent, depth), "float32")
        for name, extent in (("q", rows), ("k", keys), ("v", keys))
    )
    d, n = Axis("d", depth), Axis("n", keys)
    scores = compute(
        "scores",
        (heads, rows, keys),
        lambda h, i, j: reduce("sum", [d], q[h, i, d] * k[h, j, d]),
    )
    share = softmax_of(scores)
    result = compute(
        "result",
        (heads, rows, depth),
        lambda h, i, e: reduce("sum", [n], share[h, i, n] * v[h, n, e]),
    )
    by_rows = compute("by_rows", (rows, heads, depth), lambda i, h, e: result[h, i, e])
    return TensorProgram((q, k, v), (by_rows,), ())


def softmax_program(*shape: int) -> TensorProgram:
    x = input_tensor("x", shape, "float32")
    return TensorProgram((x,), (softmax_of(x),), ())


def group_of(plan: Plan, rows: int) -> RowBlocks:
    (group,) = (s for s in plan.with_algorithm(ROWS(block=rows)).steps if isinstance(s, RowBlocks))
    return group


def right(plan: Plan, algorithm: AppliedAlgorithm, threads: int = 1) -> bool:
    """Whether the default schedule under an algorithm gives what numpy gives."""
    rng = np.random.default_rng(0)
    feeds = {x: rng.standard_normal(x.shape).astype(x.dtype) for x in plan.program.inputs}
    (expected,) = evaluate(plan.program.outputs, feeds)
    schedule = plan.with_algorithm(algorithm).default_under_algorithm(SERVER, threads)[1]
    (found,) = run_schedule(plan, schedule, native_target(), feeds, threads=threads)
    return np.allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_softmax_is_one_kernel_without_workspace():
    plan = plan_program(softmax_program(24, 40))
    group = group_of(plan, 4)
    assert [nest.name for nest in group.nests] == ["highest", "powers", "total", "softmax"]
    assert [buffer.shape for buffer in group.buffers] == [(4,), (4,)]
    schedule = plan.with_algorithm(ROWS(block=4)).default_under_algorithm(SERVER, 1)[1]
    scheduled = apply_schedule(plan, schedule)
    assert len(scheduled.kernels) == 1
    assert not scheduled.workspace


@pytest.mark.parametrize("rows", [1, 3, 8, 64])
@pytest.mark.parametrize("shape", [(1, 127), (127, 1), (5, 7, 1000), (130, 16)])
def test_softmax_of_any_shape_is_right(shape, rows):
    assert right(plan_program(softmax_program(*shape)), ROWS(block=rows))


@pytest.mark.parametrize(
    "shape", [(2, 9, 31, 8), (3, 32, 64, 32), (1, 1, 40, 16), (2, 65, 65, 32), (1, 50, 197, 80)]
)
@pytest.mark.parametrize("rows", [1, 4, 6])
def test_attention_of_any_shape_is_right(shape, rows):
    assert right(plan_program(attention(*shape)), ROWS(block=rows), threads=2)


def depthwise_and_mixed(height: int, width: int, channels: int, step: int) -> TensorProgram:
    """A depthwise 3x3 convolution under a maximum, then a product of each pixel's channels."""
    rows, columns = (height - 3) // step + 1, (width - 3) // step + 1
    x = input_tensor("x", (1, height, width, channels), "float32")
    w = input_tensor("w", (3, 3, channels), "float32")
    v = input_tensor("v", (channels, 24), "float32")
    p, q, c = Axis("p", 3), Axis("q", 3), Axis("c", channels)
    sums = compute(
        "sums",
        (1, rows, columns, channels),
        lambda n, i, j, k: reduce("sum", [p, q], x[n, i * step + p, j * step + q, k] * w[p, q, k]),
    )
    kept = compute("kept", sums.shape, lambda *at: binary("max", sums[at], literal(0.0, "float32")))
    mixed = compute(
        "mixed",
        (1, rows, columns, 24),
        lambda n, i, j, o: reduce("sum", [c], kept[n, i, j, c] * v[c, o]),
    )
    return TensorProgram((x, w, v), (mixed,), ())


@pytest.mark.parametrize("shape", [(11, 9, 32, 1), (24, 17, 20, 2), (5, 40, 48, 1)])
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_depthwise_and_1x1_convolution_in_blocks_are_right(shape, rows):
    assert right(plan_program(depthwise_and_mixed(*shape)), ROWS(block=rows))


def test_a_sliding_window_is_cut_along_its_outer_axis_only():
    group = group_of(plan_program(depthwise_and_mixed(18, 14, 32, 1)), 4).group
    assert group.rows == 16
    assert [[(r.extent, r.inside) for r in m.rows] for m in group.members] == [
        [(16, 1)],
        [(16, 12)],
    ]


def test_scores_of_attention_never_reach_memory():
    plan = plan_program(attention(4, 64, 200, 64))
    group = group_of(plan, 8)
    assert {buffer.name for buffer in group.buffers} == {"highest", "softmax", "total"}
    assert group.blocks == 4 * 64 // 8
    written = plan.with_algorithm(ROWS(block=8)).default_under_algorithm(SERVER, 2)[1]
    scheduled = apply_schedule(plan, written)
    names = {tensor.name for tensor in scheduled.workspace}
    assert not names & {"scores", "powers", "softmax"}
    assert has_parallel_loop(scheduled.kernels[-1].body)


def test_operands_of_all_rows_are_copied_before_the_group():
    plan = plan_program(attention(4, 64, 200, 64)).with_algorithm(ROWS(block=8))
    kinds = [type(step).__name__ for step in plan.steps]
    assert kinds == ["Nest", "RowBlocks"]


def test_a_result_that_is_read_across_rows_stays_in_memory():
    x = input_tensor("x", (256, 100), "float32")
    share = softmax_of(x)
    row = Axis("row", 256)
    columns = compute("columns", (100,), lambda j: reduce("sum", [row], share[row, j]))
    plan = plan_program(TensorProgram((x,), (columns,), ()))
    group = group_of(plan, 2)
    assert "columns" not in {nest.name for nest in group.nests}
    assert "softmax" not in {buffer.name for buffer in group.buffers}
    assert right(plan, ROWS(block=2))


def padded(x: Tensor) -> Tensor:
    rows, columns = x.shape
    return compute(
        "padded",
        (rows + 2, columns),
        lambda i, j: select(
            binary("and", binary("ge", i, 1), binary("le", i, rows)), x[i - 1, j], 1.0
        ),
    )


def test_a_nest_that_writes_a_part_of_its_tensor_ends_a_group():
    x = input_tensor("x", (16, 40), "float32")
    whole = padded(softmax_of(x))
    column = Axis("column", 40)
    total = compute("row_sum", (18,), lambda i: reduce("sum", [column], whole[i, column]))
    plan = plan_program(TensorProgram((x,), (whole, total), ()))
    names = [nest.name for nest in group_of(plan, 4).nests]
    assert "padded" in names
    assert "row_sum" not in names
    rng = np.random.default_rng(1)
    data = rng.standard_normal((16, 40)).astype("float32")
    schedule = plan.with_algorithm(ROWS(block=4)).default_under_algorithm(SERVER, 2)[1]
    found = run_schedule(plan, schedule, native_target(), {x: data}, threads=2)
    for array, reference in zip(found, evaluate(plan.program.outputs, {x: data}), strict=True):
        assert np.allclose(array, reference, rtol=1e-4, atol=1e-6)


def test_an_output_between_others_is_stored_once():
    x = input_tensor("x", (16, 40), "float32")
    share = softmax_of(x)
    again = softmax_of(share)
    plan = plan_program(TensorProgram((x,), (share, again), ()))
    schedule = plan.with_algorithm(ROWS(block=4)).default_under_algorithm(SERVER, 1)[1]
    data = np.random.default_rng(0).standard_normal((16, 40)).astype("float32")
    expected = evaluate(plan.program.outputs, {x: data})
    found = run_schedule(plan, schedule, native_target(), {x: data})
    for array, reference in zip(found, expected, strict=True):
        assert np.allclose(array, reference, rtol=1e-4, atol=1e-6)


def test_schedules_of_blocks_survive_json():
    plan = plan_program(softmax_program(24, 40))
    schedule = plan.with_algorithm(ROWS(block=8)).default_under_algorithm(SERVER, 1)[1]
    assert read_schedule(schedule.to_json(), plan) == schedule


def test_blocks_that_no_stack_holds_are_refused():
    plan = plan_program(attention(1, 600, 4000, 8))
    assert plan.algorithms[-1] != ROWS(block=64)
    with pytest.raises(InputError, match="too large"):
        plan.with_algorithm(ROWS(block=500))


def test_the_default_of_a_softmax_runs_in_blocks():
    plan = plan_program(softmax_program(1536, 128))
    assert plan.default_schedule(SERVER, 1).algorithm in (
        ROWS(block=8),
        ROWS(block=16),
        ROWS(block=32),
    )


def test_small_groups_stay_on_one_thread():
    for rows, parallel in ((8, False), (4096, True)):
        plan = plan_program(softmax_program(rows, 64))
        schedule = plan.with_algorithm(ROWS(block=4)).default_under_algorithm(SERVER, 2)[1]
        (kernel,) = apply_schedule(plan, schedule).kernels
        assert has_parallel_loop(kernel.body) is parallel
