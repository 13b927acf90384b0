"""Whatever choices a schedule makes, the code computes what the tensor expressions say."""

import random

import pytest

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.target import parse_target
from relay_tune.machine.machine import Machine
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.schedule import Schedule, misfit
from relay_tune.tensor.evaluate import evaluate
from tests.schedule.comparing import difference
from tests.schedule.random_choices import any_choice, point_of_space
from tests.schedule.random_families import FAMILIES
from tests.schedule.random_programs import random_program
from tests.schedule.running import program_of, run_schedule, runnable_targets

ARM = machine_of(parse_target("aarch64-linux-gnu:cortex-a72"))


def check_points(seed: int, points: int) -> None:
    """The default schedule and `points` random ones of the program of a seed."""
    program = random_program(seed)
    expected = evaluate(program.outputs, program.feeds)
    plan = plan_program(program_of(program.outputs, program.feeds, program.constants))
    coarse = any("float16" in dtype for dtype in program.dtypes)
    rng = random.Random(seed)
    for point in range(points + 1):
        target = rng.choice(runnable_targets(half="float16" in program.dtypes))
        threads = rng.choice([1, 2, 3])
        planned = plan.with_algorithm(any_algorithm(rng, plan, machine_of(target)))
        spaces = planned.spaces(machine_of(target), threads)
        if point == 0:
            schedule = plan.default_schedule(machine_of(target), threads)
        elif rng.random() < 0.4:
            choices = tuple(point_of_space(rng, space) for space in spaces)
            schedule = Schedule(choices, planned.algorithm)
        else:
            schedule = random_schedule(rng, planned)
        at_end = rng.random() < 0.8
        found = run_schedule(plan, schedule, target, program.feeds, threads=threads, at_end=at_end)
        for array, reference in zip(found, expected, strict=True):
            wrong = difference(array, reference, coarse=coarse)
            assert wrong is None, f"{program.family} on {target.cpu}: {wrong}; {schedule.to_json()}"


def any_algorithm(rng: random.Random, plan: Plan, machine: Machine) -> AppliedAlgorithm:
    """One that the machine can run; blocks of any number of rows where nests form groups."""
    known = plan.algorithms_on(machine)
    if rng.random() < 0.5 or ROWS not in {r.algorithm for each in known for r in each.rewrites}:
        return rng.choice(known)
    return ROWS(block=rng.randint(1, 12))


def random_schedule(rng: random.Random, plan: Plan) -> Schedule:
    choices = tuple(any_choice(rng, nest) for nest in plan.nests)
    assert [misfit(c, nest) for c, nest in zip(choices, plan.nests, strict=True)] == [None] * len(
        choices
    )
    return Schedule(choices, plan.algorithm)


@pytest.mark.parametrize("seed", range(150))
def test_default_and_random_points(seed):
    check_points(seed, points=2)


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(10, 40))
def test_campaign(hundred):
    for seed in range(100 * hundred, 100 * hundred + 100):
        check_points(seed, points=3)


def test_the_programs_are_of_all_families():
    assert {random_program(seed).family for seed in range(150)} == set(FAMILIES)


@pytest.mark.parametrize("seed", range(0, 150, 10))
def test_code_for_another_machine_is_accepted(seed):
    program = random_program(seed)
    plan = plan_program(program_of(program.outputs, program.feeds, program.constants))
    target = parse_target("aarch64-linux-gnu:cortex-a72")
    rng = random.Random(seed)
    for schedule in (plan.default_schedule(ARM, 4), random_schedule(rng, plan)):
        text = module_text(apply_schedule(plan, schedule).kernels, target)
        assert compile_text(text, target).startswith(b"\x7fELF")


def test_the_default_schedule_is_the_same_each_time():
    program = random_program(0)
    texts = set()
    for _ in range(2):
        plan = plan_program(program_of(program.outputs, program.feeds, program.constants))
        scheduled = apply_schedule(plan, plan.default_schedule(ARM, 4))
        texts.add(module_text(scheduled.kernels, parse_target("aarch64-linux-gnu")))
    assert len(texts) == 1
