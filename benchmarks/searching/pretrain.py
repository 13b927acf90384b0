"""Makes the cost model that ships with the package: measures schedules, trains, reports.

    python -m benchmarks.searching.pretrain measure blocks.db --threads 1 --minutes 5
    python -m benchmarks.searching.pretrain report blocks.db [OTHER.db ...]
    python -m benchmarks.searching.pretrain train blocks.db [OTHER.db ...] -o cost_model.json
    python -m benchmarks.searching.pretrain train blocks.db --start a.json --trees 50 -o b.json
    python -m benchmarks.searching.pretrain train blocks.db --opinions a.json --of TARGET -o b.json

`measure` fills a tuning log with schedules of random blocks of networks (`random_blocks`), which
are no part of any network that the project measures itself by. A quarter of the schedules are
those with the best estimates, the others are random ones, drawn the more often the better their
estimate is. All are measured once and the fastest quarter twice more, in turn; the least time
counts, so that the best are not those whose clock erred most. It passes over tasks that the log
knows; `--first` begins at a later block. `report` trains on four fifths of the tasks and ranks the
schedules of the others, each fifth in turn. With `--start` trees are added to those of a model,
which may have learned on another machine. With `--opinions` the trees learn what such a model
thinks of schedules on its own machine as well, whose measurements need not be at hand.
Features are computed anew from the logged schedules, so a log outlives a change of the features.
"""

from __future__ import annotations

import argparse
import time
from math import inf
from pathlib import Path

from benchmarks.searching.block_tasks import SEED, block_tasks
from benchmarks.searching.chosen_schedules import chosen_schedules
from benchmarks.searching.described_logs import described, trained
from benchmarks.searching.held_out import report
from benchmarks.searching.network_around import network_bytes
from benchmarks.searching.opinions import opinions
from cost_model import MANY_GROUPS
from relay_tune.codegen.target import Target, native_target, parse_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.runtime.measuring.measurement import Measurement
from relay_tune.runtime.target_machine import machine_of
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.runner import NativeRunner
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.tasks import Task

OTHER_MACHINE = "x86_64-linux-gnu:sapphirerapids"
"""What the model in `measured` had learned on."""

FURTHER_PART, FURTHER_ROUNDS = 4, 2
"""The part of the schedules, the fastest ones, that are measured again, and how often."""


def measure(path: Path, threads: int, seconds: float, first: int) -> None:
    """Measure schedules of tasks that the log does not know, until the time is over."""
    target = native_target()
    keeper = LogKeeper(path, TuningScope(target.key, threads, CODE_VERSION))
    runner = NativeRunner(target, threads, SEED, network_bytes=network_bytes)
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
    drafts = [runner.draft(task, schedule) for schedule in chosen_schedules(space)]
    prepared = list(runner.prepare(task, drafts, None))
    found = [runner.measure(task, each, None) for each in prepared]
    correct = [place for place, one in enumerate(found) if one.seconds is not None]
    fastest = sorted(correct, key=lambda place: _seconds(found[place]))
    for _ in range(FURTHER_ROUNDS):
        for place in fastest[: len(found) // FURTHER_PART]:
            again = runner.measure(task, prepared[place], None)
            found[place] = min(found[place], again, key=_seconds)
    for each, measurement in zip(prepared, found, strict=True):
        keeper.append(task, each.schedule, measurement, [])
    return len(prepared)


def _seconds(measurement: Measurement) -> float:
    return inf if measurement.seconds is None else measurement.seconds


def main() -> None:
    """Parse the command line, then measure, report or train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=["measure", "report", "train"])
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--first", type=int, default=0, help="number of the first block")
    parser.add_argument("--start", type=Path, help="a model to which trees are added")
    parser.add_argument("--opinions", type=Path, help="a model whose opinions are learned, too")
    parser.add_argument("--of", default=OTHER_MACHINE, help="the target that it knows")
    parser.add_argument("--trees", type=int, default=MANY_GROUPS.rounds, help="to be grown")
    parser.add_argument("-o", "--output", type=Path, default=Path("cost_model.json"))
    options = parser.parse_args()
    if options.verb == "measure":
        measure(options.logs[0], options.threads, 60 * options.minutes, options.first)
        return
    groups = described(options.logs)
    believed = opinions(options.opinions, parse_target(options.of)) if options.opinions else []
    print(f"{sum(len(g.throughputs) for g in groups)} schedules of {len(groups)} tasks")
    if options.verb == "report":
        report(groups, options.start, options.trees, believed)
    else:
        trained(groups, options.start, options.trees, believed).save(options.output)


if __name__ == "__main__":
    main()
