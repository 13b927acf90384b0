"""What logs know of the tasks of random blocks, and models that are trained from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import logs
from benchmarks.searching.block_tasks import SEED, block_tasks
from cost_model import MANY_GROUPS, CostModel, Row
from relay_tune.codegen.target import native_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.errors import InputError
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.schedule.features.program_features import estimated_throughput
from relay_tune.schedule.plan import read_schedule
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.tasks import Task

OPINION_WEIGHT = 0.1
"""What a model's opinion counts beside a measurement."""


@dataclass(frozen=True, slots=True)
class Described:
    """The measured schedules of a task: what the model sees, and what it is to predict."""

    task: str
    features: list[list[float]]
    throughputs: list[float | None]


def described(paths: Sequence[Path]) -> list[Described]:
    """What the logs know of the tasks of all blocks."""
    target = native_target()
    machine = machine_of(target)
    tasks = {task.key.digest: task for task in block_tasks()}
    found: list[Described] = []
    for path in paths:
        with logs.open_log(path, create=False, readonly=True) as log:
            records: dict[tuple[str, int], list[logs.Record]] = {}
            for record in log.history(target=target.key, code_version=CODE_VERSION):
                records.setdefault((record.workload, record.threads), []).append(record)
        for (digest, threads), own in records.items():
            if digest in tasks:
                space = ProgramSpace(tasks[digest].plan, machine, threads)
                found.append(_described(tasks[digest], space, own))
    return [item for item in found if any(item.throughputs)]


def _described(task: Task, space: ProgramSpace, records: Sequence[logs.Record]) -> Described:
    """Schedules that no longer fit the task are passed over."""
    features: list[list[float]] = []
    throughputs: list[float | None] = []
    for record in records:
        try:
            schedule = read_schedule(record.schedule, task.plan)
        except InputError:
            continue
        features.append(space.features(schedule))
        throughputs.append(1 / record.seconds if record.seconds else None)
    return Described(task.key.digest, features, throughputs)


def trained(
    groups: Sequence[Described],
    start: Path | None = None,
    rounds: int = MANY_GROUPS.rounds,
    opinions: Sequence[Described] = (),
) -> CostModel:
    """A model that has learned from all groups, in so many trees beside those of `start`.

    It has also learned from opinions, which count as little as `OPINION_WEIGHT`.
    """
    growth = replace(MANY_GROUPS, rounds=rounds)
    model = CostModel(SEED, feature_names=FEATURE_NAMES, growth=growth)
    if start is not None:
        model.load(start)
    model.update([*_rows(groups, "measured", 1.0), *_rows(opinions, "believed", OPINION_WEIGHT)])
    return model


def _rows(groups: Sequence[Described], kind: str, weight: float) -> list[Row]:
    """Each group by itself, also where two are of the same task."""
    return [
        Row(f"{kind} {number}", features, throughput, estimated_throughput(features), weight)
        for number, group in enumerate(groups)
        for features, throughput in zip(group.features, group.throughputs, strict=True)
    ]
