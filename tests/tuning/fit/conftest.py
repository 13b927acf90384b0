"""A log whose times are what the estimate says under hidden coefficients."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import logs
from relay_tune.building.program_form import fused_module
from relay_tune.codegen.target import Target, parse_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.machine.machine import Machine
from relay_tune.tuning.fit import fit, least_squares
from relay_tune.tuning.fit.costs import cost
from relay_tune.tuning.fit.observations import Observation
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.tasks import Task, extract_tasks
from relay_tune.typing.infer import infer_types
from search.sampling import random_genomes

SIZES = (48, 112, 80, 144, 64, 96, 40)
SCHEDULES = 7

HIDDEN = {"tile": 40.0, "loop_step": 2.0, "load": 0.5}
"""The coefficients of the machine that the log is of; the others are as usual."""

TARGET = parse_target("x86_64-linux-gnu:haswell")


def layers() -> Module:
    """A chain of dense layers, each of another size."""
    pairs = list(zip(SIZES[:-1], SIZES[1:], strict=True))
    weights = ", ".join(
        f"%w{n}: Tensor[({after}, {before}), float32]" for n, (before, after) in enumerate(pairs)
    )
    lines = [f"let %y{n + 1} = nn.relu(nn.dense(%y{n}, %w{n}));" for n in range(len(pairs))]
    text = "\n".join((*lines, f"%y{len(pairs)}")).replace("%y0", "%x")
    return parse(f"def @main(%x: Tensor[(24, {SIZES[0]}), float32], {weights}) {{\n{text}\n}}")


@pytest.fixture(scope="package", autouse=True)
def _few_are_enough() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "FEWEST_MEASUREMENTS", 6 * SCHEDULES)
        patch.setattr(least_squares, "STEPS", 2)
        yield


@pytest.fixture(scope="package")
def layer_tasks() -> list[Task]:
    return extract_tasks(fused_module(infer_types(layers()), target=TARGET))


def hidden_machine() -> Machine:
    """The machine that the log is of."""
    machine = TARGET.machine
    return replace(machine, coefficients=machine.coefficients.changed(HIDDEN))


def write_log(path: Path, tasks: list[Task], machine: Machine, target: Target = TARGET) -> None:
    """Some schedules of each task, with the times that a machine's estimates say."""
    keeper = LogKeeper(path, TuningScope(target.key, 1, CODE_VERSION))
    for task in tasks:
        space = ProgramSpace(task.plan, TARGET.machine, 1)
        keeper.describe(task, {})
        genomes = random_genomes(space.space, SCHEDULES, random.Random(0))
        for schedule in dict.fromkeys(map(space.schedule, genomes)):
            plan = task.plan.with_algorithm(schedule.algorithm)
            parts = tuple(zip(plan.spaces(TARGET.machine, 1), schedule.choices, strict=True))
            seconds = cost(Observation(("", 1), plan, parts, 1, 1.0), machine) / 3e9
            keeper_append(keeper, task, schedule.to_json(), seconds)
    keeper.close()


def keeper_append(keeper: LogKeeper, task: Task, schedule: str, seconds: float) -> None:
    """Enter a time."""
    scope = keeper.scope
    keeper._log.append(
        logs.Record(
            workload=task.key.digest,
            target=scope.target,
            threads=scope.threads,
            code_version=scope.code_version,
            schedule=schedule,
            status=logs.Status.OK,
            created=time.time(),
            source="here",
            seconds=seconds,
        )
    )


@pytest.fixture
def log_path(tmp_path: Path, layer_tasks: list[Task]) -> Path:
    path = tmp_path / "tuning.db"
    write_log(path, layer_tasks, hidden_machine())
    return path
