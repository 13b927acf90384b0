"""Long sums over weights in parts."""

import random
from dataclasses import replace

import numpy as np
import pytest

from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.split import SPLIT, Parts, split_program
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, reduce, unary
from relay_tune.tensor.tensor import compute
from tests.schedule.convolutions import convolution_program, feeds_of
from tests.schedule.machines import core, with_sizes
from tests.schedule.offered import algorithms
from tests.schedule.products import dense
from tests.schedule.random_choices import any_choice
from tests.schedule.running import run_schedule, runnable_targets

SERVER = with_sizes(core(64, 32), (32 << 10, 768 << 10, 32 << 20))
TOLERANCE = 1e-5


def error(plan: Plan, schedule: Schedule, threads: int = 2) -> float:
    feeds = {**feeds_of(plan.source), **plan.program.constant_arrays()}
    (expected,) = evaluate(plan.source.outputs, {**feeds, **plan.source.constant_arrays()})
    target = runnable_targets()[0]
    (found,) = run_schedule(plan, schedule, target, feeds, threads=threads)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize(
    ("program", "applies"),
    [
        (dense(16, 2048, 100), True),
        (dense(16, 1024, 100), False),
        (dense(1, 2048, 100), False),
        (dense(600, 2048, 40), False),
        (dense(16, 2049, 100), False),
        (dense(16, 2048, 100, constant=False), False),
    ],
    ids=["long", "short", "a vector", "more parts than weights", "odd", "no weights"],
)
def test_where_sums_are_split(program, applies):
    assert (SPLIT(parts=4) in algorithms(program)) is applies
    assert (split_program(program, Parts(4)) is not None) is applies


def test_the_parts_are_a_stage_and_the_epilogue_reads_them_once():
    plan = plan_program(dense(16, 2048, 100), SPLIT(parts=4))
    parts, total = plan.nests
    assert [axis.extent for axis in parts.axes] == [4, 16, 100]
    assert [axis.extent for axis in parts.reduction] == [512]
    assert total.reduction == ()
    assert total.name == "relu"


@pytest.mark.parametrize(
    "program",
    [dense(16, 2048, 100), dense(9, 4096, 33), convolution_program((1, 5, 4, 256, 64))],
    ids=["dense", "odd sizes", "convolution"],
)
def test_native_code_agrees(program):
    plan = plan_program(program, SPLIT(parts=4))
    assert error(plan, plan.default_under_algorithm(SERVER, 2)[1]) <= TOLERANCE


@pytest.mark.parametrize("seed", range(6))
def test_every_schedule_is_right(seed):
    rng = random.Random(seed)
    plan = plan_program(dense(rng.randint(8, 12), 2048, rng.randint(17, 50)), SPLIT(parts=4))
    choices = tuple(any_choice(rng, nest) for nest in plan.nests)
    assert error(plan, Schedule(choices, plan.algorithm)) <= TOLERANCE


def test_the_default_splits_where_two_panels_leave_the_second_cache():
    long = plan_program(convolution_program((1, 7, 7, 1024, 512)))
    known = {name: long.with_algorithm(name) for name in (DIRECT, SPLIT(parts=4))}
    direct, split = (p.default_under_algorithm(SERVER, 1)[0] for p in known.values())
    assert split < direct


def softmax_of_a_long_sum():
    """Rows of 48 sums of 2048 products each, divided by the sum of their exponentials."""
    program = dense(16, 2048, 48)
    (logits,) = program.outputs
    exponentials = compute("exp", logits.shape, lambda i, j: unary("exp", logits[i, j] * 0.01))
    k = Axis("k", 48)
    total = compute("total", (16,), lambda i: reduce("sum", [k], exponentials[i, k]))
    rows = compute("rows", logits.shape, lambda i, j: exponentials[i, j] / total[i])
    return replace(program, outputs=(rows,))


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_follow_where_parts_are_added_up(threads):
    plan = plan_program(softmax_of_a_long_sum())
    blocks = [each for each in plan.algorithms if len(each.rewrites) == 2]
    assert blocks == [SPLIT(parts=4) + ROWS(block=1)]
    rng = random.Random(threads)
    for algorithm in blocks:
        grouped = plan.with_algorithm(algorithm)
        assert any(isinstance(step, RowBlocks) for step in grouped.steps)
        assert error(grouped, grouped.default_under_algorithm(SERVER, threads)[1]) <= TOLERANCE
        choices = tuple(any_choice(rng, nest) for nest in grouped.nests)
        assert error(grouped, Schedule(choices, algorithm), threads) <= TOLERANCE
