from __future__ import annotations

from dataclasses import replace
from math import isfinite
from random import Random

import pytest

from relay_tune.codegen.target import Target
from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.schedule.plan import read_schedule
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.schedule import Schedule
from relay_tune.targets.x86.intrinsics import INTRINSICS
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.tasks import Task
from tests.schedule.offered import MATRIX_PRODUCTS


@pytest.fixture
def convolution(convolution_task: Task, target: Target) -> ProgramSpace:
    machine = replace(machine_of(target), intrinsics=())
    return ProgramSpace(convolution_task.plan, machine, 2)


@pytest.fixture
def space(tasks: list[Task], target: Target) -> ProgramSpace:
    return ProgramSpace(tasks[0].plan, replace(machine_of(target), intrinsics=()), 2)


def test_the_default_schedule_is_in_the_space(space: ProgramSpace) -> None:
    genome = space.genome(space.default)
    assert genome is not None
    assert genome in space.space
    assert space.schedule(genome) == space.default


def test_genomes_give_schedules_that_fit_and_come_back(
    space: ProgramSpace, tasks: list[Task]
) -> None:
    random = Random(0)
    for _ in range(50):
        schedule = space.schedule(space.space.random(random))
        assert Schedule.from_json(schedule.to_json(), tasks[0].plan.nests) == schedule
        genome = space.genome(schedule)
        assert genome is not None and space.schedule(genome) == schedule


def test_a_schedule_from_outside_has_no_genome(space: ProgramSpace) -> None:
    choice = space.default.choices[0]
    foreign = Schedule((replace(choice, unroll=63), *space.default.choices[1:]))
    assert space.genome(foreign) is None
    assert space.genome(Schedule(())) is None


def test_features_are_finite_and_tell_schedules_apart(space: ProgramSpace) -> None:
    random = Random(1)
    schedules = {space.schedule(space.space.random(random)) for _ in range(30)}
    described = {tuple(space.features(schedule)) for schedule in schedules}
    assert len(described) >= 0.9 * len(schedules)
    for values in described:
        assert len(values) == len(FEATURE_NAMES) == len(set(FEATURE_NAMES))
        assert all(abs(value) < 1e6 for value in values)


def test_the_default_has_the_best_estimate_of_a_sample(space: ProgramSpace) -> None:
    random = Random(2)
    sampled = [space.cycles(space.schedule(space.space.random(random))) for _ in range(50)]
    assert space.cycles(space.default) <= min(sampled) * 1.2


def test_all_algorithms_are_in_one_space(convolution: ProgramSpace) -> None:
    assert {schedule.algorithm for schedule in convolution.defaults} == {
        DIRECT,
        WINOGRAD(tile=2),
        WINOGRAD(tile=4),
    }
    assert convolution.defaults[0] == convolution.default
    cycles = [convolution.cycles(schedule) for schedule in convolution.defaults]
    assert cycles == sorted(cycles)
    random = Random(3)
    drawn = [convolution.space.random(random) for _ in range(60)]
    schedules = [convolution.schedule(genome) for genome in drawn]
    assert {schedule.algorithm for schedule in schedules} == {
        DIRECT,
        WINOGRAD(tile=2),
        WINOGRAD(tile=4),
    }
    for genome, schedule in zip(drawn, schedules, strict=True):
        found = convolution.genome(schedule)
        assert found is not None and convolution.schedule(found) == schedule
        assert convolution.space.normal(genome) == genome
        assert len(convolution.features(schedule)) == len(FEATURE_NAMES)


def test_a_changed_algorithm_leads_to_its_default(convolution: ProgramSpace) -> None:
    genome = convolution.space.random(Random(4))
    for gene, name in enumerate(convolution.space.choices[0].values):
        changed = convolution.space.normal((gene, *genome[1:]))
        if gene != genome[0]:
            schedule = convolution.schedule(changed)
            assert str(schedule.algorithm) == name and schedule in convolution.defaults


def test_the_work_is_that_of_the_algorithms_that_the_machine_can_run(
    convolution: ProgramSpace,
) -> None:
    offered = {schedule.algorithm for schedule in convolution.defaults}
    assert set(convolution.works) == offered
    assert all(BFLOAT16_PAIRS.name not in work.operations for work in convolution.works.values())


def test_schedules_on_matrix_registers_have_finite_features_that_tell_them_apart(
    convolution_task: Task, target: Target
) -> None:
    machine = replace(machine_of(target), intrinsics=INTRINSICS)
    space = ProgramSpace(convolution_task.plan, machine, 1)
    random = Random(5)
    drawn = {space.schedule(space.space.random(random)) for _ in range(400)}
    tiled = [schedule for schedule in drawn if schedule.algorithm in MATRIX_PRODUCTS]
    described = [tuple(space.features(schedule)) for schedule in tiled]
    assert len(tiled) > 20
    assert len(set(described)) >= 0.9 * len(tiled)
    assert all(isfinite(value) for values in described for value in values)
    assert sum(BFLOAT16_PAIRS.name in work.operations for work in space.works.values()) == 2
    for schedule in tiled:
        assert read_schedule(schedule.to_json(), convolution_task.plan) == schedule
        genome = space.genome(schedule)
        assert genome is not None and space.schedule(genome) == schedule
