"""Makes the cost model that ships with the package: measures schedules, trains, reports.

    python -m benchmarks.searching.pretrain measure blocks.db --threads 1 --minutes 5
    python -m benchmarks.searching.pretrain report blocks.db [OTHER.db ...]
    python -m benchmarks.searching.pretrain train blocks.db [OTHER.db ...] -o cost_model.json

`measure` fills a tuning log with schedules of random blocks of networks (`random_blocks`), which
are no part of any network that the project measures itself by. A quarter of the schedules are
those with the best estimates, the others are random ones, drawn the more often the better their
estimate is. It passes over tasks that the log knows; `--first` begins at a later block. `report`
trains on four fifths of the tasks and ranks the schedules of the others, each fifth in turn.
Features are computed anew from the logged schedules, so a log outlives a change of the features.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import logs
from benchmarks.searching.random_blocks import random_block
from cost_model import MANY_GROUPS, CostModel, Row, rank_correlation, top_recall
from relay_tune.codegen.target import Target, native_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.errors import InputError
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.schedule.features.program_features import estimated_throughput
from relay_tune.schedule.plan import read_schedule
from relay_tune.schedule.schedule import Schedule
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.runner import NativeRunner
from relay_tune.tuning.scope import Scope
from relay_tune.tuning.tasks import Task, extract_tasks
from search import GeneticSearch, Genome, RandomSearch

SEED = 0
BLOCKS = 144
SCHEDULES = 32
"""Candidates of a task; fewer where its space has not so many."""

FORESEEN = 8
"""How many of them are those with the best estimates."""

DRAWN_FROM = 256
"""Random schedules of which the others are drawn."""

LEAST_BYTES = 100_000
"""Kernels that move less are over before a clock can tell schedules apart."""

NETWORK_BYTES = 50 << 20
"""What the network around a block is taken to touch between two runs of a kernel."""

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Described:
    """The measured schedules of a task: what the model sees, and what it is to predict."""

    task: str
    features: list[list[float]]
    throughputs: list[float | None]


def block_tasks(first: int = 0) -> Iterator[Task]:
    """The distinct tasks of all blocks from a number on, each made when it is asked for."""
    found: set[str] = set()
    for number in range(first, BLOCKS):
        for task in extract_tasks(default_pipeline()(random_block(SEED, number))):
            if task.bytes >= LEAST_BYTES and task.key.digest not in found:
                found.add(task.key.digest)
                yield task


def measure(path: Path, threads: int, seconds: float, first: int) -> None:
    """Measure schedules of tasks that the log does not know, until the time is over."""
    target = native_target()
    keeper = LogKeeper(path, Scope(target.key, threads, CODE_VERSION))
    runner = NativeRunner(target, threads, SEED, network_bytes=lambda: NETWORK_BYTES)
    end = time.monotonic() + seconds
    count = 0
    try:
        for task in block_tasks(first):
            if time.monotonic() > end:
                break
            if not keeper.history(task):
                count += _measure_task(task, runner, keeper, target)
    finally:
        runner.close()
        keeper.close()
    print(f"{count} schedules in {seconds:.0f} s")


def _measure_task(task: Task, runner: NativeRunner, keeper: LogKeeper, target: Target) -> int:
    space = ProgramSpace(task.plan, machine_of(target), keeper.scope.threads)
    if space.is_trivial:
        return 0
    schedules = chosen_schedules(space)
    drafts = [runner.draft(task, schedule) for schedule in schedules]
    for prepared in list(runner.prepare(task, drafts, None)):
        found = runner.measure(task, prepared, None)
        keeper.append(task, prepared.schedule, found, [])
    return len(schedules)


def chosen_schedules(space: ProgramSpace) -> list[Schedule]:
    """Different schedules of a task: with good estimates, and at random, rather good than bad."""

    def score(genomes: Sequence[Genome]) -> list[float]:
        return [-space.cycles(space.schedule(genome)) for genome in genomes]

    known = [space.genome(schedule) for schedule in space.defaults]
    initial = [genome for genome in known if genome is not None]
    search = GeneticSearch(space.space, SEED, exploration=0.0, initial=initial)
    found = dict.fromkeys(space.schedule(g) for g in search.propose(FORESEEN, score))
    others = random_schedules(space, score)
    generator = random.Random(SEED)
    while others and len(found) < SCHEDULES:
        place = int(math.exp(generator.random() * math.log(len(others) + 1))) - 1
        found.setdefault(others.pop(place))
    return list(found)


def random_schedules(
    space: ProgramSpace, score: Callable[[Sequence[Genome]], Sequence[float]]
) -> list[Schedule]:
    """Random schedules, the best estimate first."""
    genomes = RandomSearch(space.space, SEED).propose(DRAWN_FROM)
    scores = dict(zip(genomes, score(genomes), strict=True))
    ranked = sorted(genomes, key=scores.__getitem__, reverse=True)
    return list(dict.fromkeys(space.schedule(genome) for genome in ranked))


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


def folds(groups: Sequence[Described]) -> Iterator[tuple[list[Described], list[Described]]]:
    """Each fifth of the tasks with all others; a task is on one side only."""
    tasks = sorted({group.task for group in groups})
    for number in range(FOLDS):
        held_out = set(tasks[number::FOLDS])
        yield (
            [group for group in groups if group.task not in held_out],
            [group for group in groups if group.task in held_out],
        )


def trained(groups: Sequence[Described]) -> CostModel:
    """A model that has learned from all groups."""
    model = CostModel(SEED, feature_names=FEATURE_NAMES, growth=MANY_GROUPS)
    rows = [
        Row(f"{group.task} {number}", features, throughput, estimated_throughput(features))
        for number, group in enumerate(groups)
        for features, throughput in zip(group.features, group.throughputs, strict=True)
    ]
    model.update(rows)
    return model


def report(groups: Sequence[Described]) -> None:
    """Print how well the model and the estimate rank tasks that they know nothing of."""
    print("| ranked by | rank correlation | top 5 % in top 10 % | first choice against best |")
    print("|---|---|---|---|")
    lines: dict[str, list[tuple[float, float, float]]] = {"model": [], "estimate": []}
    for others, held_out in folds(groups):
        model = trained(others)
        for group in held_out:
            values = [value or 0.0 for value in group.throughputs]
            estimates = [estimated_throughput(features) for features in group.features]
            scores = {
                "model": [float(value) for value in model.predict(group.features, estimates)],
                "estimate": estimates,
            }
            for name, predicted in scores.items():
                first = values[max(range(len(values)), key=predicted.__getitem__)]
                lines[name].append(
                    (
                        rank_correlation(predicted, values),
                        top_recall(predicted, values),
                        first / max(values),
                    )
                )
    for name, found in lines.items():
        means = [fmean(column) for column in zip(*found, strict=True)]
        print(f"| {name} | {means[0]:.2f} | {means[1]:.0%} | {means[2]:.0%} |")


def main() -> None:
    """Parse the command line, then measure, report or train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=["measure", "report", "train"])
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--first", type=int, default=0, help="number of the first block")
    parser.add_argument("-o", "--output", type=Path, default=Path("cost_model.json"))
    options = parser.parse_args()
    if options.verb == "measure":
        measure(options.logs[0], options.threads, 60 * options.minutes, options.first)
        return
    groups = described(options.logs)
    print(f"{sum(len(g.throughputs) for g in groups)} schedules of {len(groups)} tasks")
    if options.verb == "report":
        report(groups)
    else:
        trained(groups).save(options.output)


if __name__ == "__main__":
    main()
