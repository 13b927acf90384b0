"""Trials that tuning needs to come near the best of many random schedules, measured live.

    python -m benchmarks.searching.tables measure --rows 2000
    python -m benchmarks.searching.tables confirm tables/*.json
    python -m benchmarks.searching.trials tables/*.json [--trials 64] [--seed 0]

Each task of a table (`table_tasks`) is tuned by itself from an empty log on one thread, as `tune
run` does it: all algorithms in one space, default schedules first. Then what was the best so far at
any time of the run is measured again, in turn with the best row of the table. The trial that counts
is the first whose time, so measured, is within `--near` of that of the row. Printed are these
trials, their median, and how much faster the best of the run is than the row. The results of all
calls are kept in a file, so that the tables can be given one by one, and several seeds.

The exit status is 1 where the median is above `--bar`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.searching.described_tables import replayed_task_of
from benchmarks.searching.network_around import network_bytes
from benchmarks.searching.tables import ROUNDS, measured_in_turn
from relay_tune.codegen.target import native_target
from relay_tune.runtime.measuring.measurement import Measurement
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.options import TuningOptions
from relay_tune.tuning.runner import NativeRunner, Prepared
from relay_tune.tuning.tasks import Task
from relay_tune.tuning.tune import tune_tasks
from search import SearchError, SearchTable, load_table


class NotingRunner(NativeRunner):
    """Notes the schedules in the order in which they are measured for the first time.

    Attributes:
        trials: the time that each took then, None where it failed.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(native_target(), 1, seed, network_bytes=network_bytes)
        self.trials: dict[Schedule, float | None] = {}

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        """See `Runner.measure`."""
        found = super().measure(task, prepared, best)
        self.trials.setdefault(prepared.schedule, found.seconds)
        return found


@dataclass(frozen=True, slots=True)
class Found:
    """What tuning made of one task.

    Attributes:
        task: its name.
        rows: of its table.
        seed: of the run.
        trials: candidates that were measured.
        needed: the first that is near the best row of the table; None where none is.
        ratio: the best time of the run divided by that of the row.
    """

    task: str
    rows: int
    seed: int
    trials: int
    needed: int | None
    ratio: float


def found_of(table: SearchTable, path: Path, trials: int, seed: int, near: float) -> Found:
    """Tune the task of a table and compare with its best row."""
    task, space = replayed_task_of(table, path)
    runner = NotingRunner(seed)
    try:
        with tempfile.TemporaryDirectory() as folder:
            tune_tasks(
                [task],
                runner,
                log=Path(folder) / "log.db",
                options=TuningOptions(trials, None, seed),
                target=native_target(),
                threads=1,
            )
        leaders = leading(list(runner.trials.items()))
        best_row = min(table.rows, key=lambda row: row.seconds or math.inf)
        schedules = [space.schedule(best_row.genome), *leaders.values()]
        wanted, *times = measured_in_turn(runner, task, schedules, ROUNDS)
    finally:
        runner.close()
    if wanted is None:
        raise SearchError(f"the best row of {path} does not run any more: measure the table again")
    again = {number: own for number, own in zip(leaders, times, strict=True) if own is not None}
    needed = next((number for number, own in again.items() if own <= (1 + near) * wanted), None)
    ratio = min(again.values()) / wanted
    return Found(table.task, len(table.rows), seed, len(runner.trials), needed, ratio)


def leading(trials: Sequence[tuple[Schedule, float | None]]) -> dict[int, Schedule]:
    """The trials, counted from 1, that were faster than all before them."""
    best = math.inf
    found: dict[int, Schedule] = {}
    for number, (schedule, seconds) in enumerate(trials, 1):
        if seconds is not None and seconds < best:
            best, found[number] = seconds, schedule
    return found


def report(results: Sequence[Found], bar: float) -> bool:
    """Print the trials that were needed; whether their median is at most `bar`."""
    print("| task | rows | seed | trials | needed | best / best row |")
    print("|---|---|---|---|---|---|")
    for found in results:
        needed = "more" if found.needed is None else str(found.needed)
        print(
            f"| {found.task} | {found.rows} | {found.seed} | {found.trials} | {needed} "
            f"| {found.ratio:.2f} |"
        )
    middle = median(math.inf if f.needed is None else f.needed for f in results)
    passed = middle <= bar
    print(f"\nmedian {middle:g}, bar {bar:g}: {'passed' if passed else 'FAILED'}")
    return passed


def measured(tables: Sequence[Path], options: argparse.Namespace) -> list[Found]:
    """The results of all tables; those of earlier calls are taken from the file."""
    file: Path = options.results
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    results = [Found(**fields) for fields in known]
    for path in tables:
        table = load_table(path)
        if not any((f.task, f.seed) == (table.task, options.seed) for f in results):
            results.append(found_of(table, path, options.trials, options.seed, options.near))
            fields = [asdict(found) for found in results]
            file.write_text(json.dumps(fields, indent=1), encoding="utf-8")
    return results


def main() -> int:
    """Parse the command line, tune and print the report; 1 where the bar is missed."""
    parser = argparse.ArgumentParser(description="Trials of tuning to come near random's best.")
    parser.add_argument("tables", nargs="*", type=Path)
    parser.add_argument("--trials", type=int, default=64, help="candidates of a task at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--near", type=float, default=0.03, help="share above the best row's time")
    parser.add_argument("--bar", type=float, default=32.0, help="of the median")
    parser.add_argument("--results", type=Path, default=Path("trials.json"), help="of all calls")
    options = parser.parse_args()
    return 0 if report(measured(options.tables, options), options.bar) else 1


if __name__ == "__main__":
    sys.exit(main())
