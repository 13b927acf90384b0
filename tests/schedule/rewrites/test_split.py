"""Long sums over weights in parts."""

import random

import numpy as np
import pytest

from relay_tune.machine.machine import Machine
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.split import SPLIT, Parts, split_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from tests.schedule.convolutions import convolution_program, feeds_of
from tests.schedule.offered import algorithms
from tests.schedule.products import dense
from tests.schedule.random_choices import any_choice
from tests.schedule.running import run_schedule, runnable_targets

SERVER = Machine(64, 32, cache_bytes=(32 << 10, 768 << 10, 32 << 20))
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
