"""Measures random schedules of ten tasks on this machine and keeps them as search tables.

    python -m benchmarks.searching.tables measure [--rows 1500] [--folder tables] [--match conv]
    python -m benchmarks.searching.tables confirm tables/*.json
    python -m benchmarks.searching.quality tables/*.json
    python -m benchmarks.searching.trials tables/*.json
    python -m benchmarks.searching.tables describe tables/*.json

The tasks are those of `table_tasks`. Each table has `rows` different schedules drawn uniformly from
the task's whole space, each measured once on one thread, in random order, with weights that come
from memory as in a network; `--seconds` ends the measuring earlier, and another call goes on with
it. The best of many noisy times is too good to be true: `confirm` measures the best rows of each
table again, in turn, and puts the medians in their places, divided by how much slower the machine
is now. Nothing else should run meanwhile.

`describe` computes the features of measured tables anew, for a version that describes schedules
otherwise; nothing is measured.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks.searching.described_tables import describe, described_rows, replayed_task_of
from benchmarks.searching.network_around import network_bytes
from benchmarks.searching.table_tasks import NETWORKS, largest_task
from relay_tune.codegen.target import native_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.runner import Draft, NativeRunner, Prepared
from relay_tune.tuning.tasks import Task
from search import Genome, SearchTable, load_table, save_table
from search.table import TableRow

BATCH = 24

CONFIRMED_SHARE = 0.1
"""This share of the rows, the best ones, is measured again."""

CONTROLS = 16
"""Rows of the better half that are measured with them, to tell how the machine's speed changed."""

ROUNDS = 5
"""Times that each of them is measured, in turn."""


def main() -> None:
    """Parse the command line; measure, confirm or describe tables."""
    parser = argparse.ArgumentParser(description="Makes search tables of measured schedules.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    measured = verbs.add_parser("measure", help="measure schedules and write tables")
    measured.add_argument("--rows", type=int, default=1500)
    measured.add_argument("--folder", type=Path, default=Path("tables"))
    measured.add_argument("--match", default="", help="part of the names of the tasks wanted")
    measured.add_argument("--seed", type=int, default=0)
    measured.add_argument("--seconds", type=float, default=3600.0, help="when to stop")
    for verb, does in (
        ("confirm", "measure the best rows of tables again"),
        ("describe", "compute the features of tables anew"),
    ):
        known = verbs.add_parser(verb, help=does)
        known.add_argument("tables", nargs="+", type=Path)
    arguments = parser.parse_args()
    match arguments.verb:
        case "measure":
            end = time.monotonic() + arguments.seconds
            measure(arguments.folder, arguments.match, arguments.rows, arguments.seed, end)
        case "confirm":
            confirm(arguments.tables)
        case _:
            describe(arguments.tables)


def measure(folder: Path, match: str, rows: int, seed: int, end: float) -> None:
    """Measure the tasks whose names contain `match` until `end`, on the monotonic clock.

    What the folder's tables hold counts as measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    runner = NativeRunner(native_target(), 1, seed, network_bytes=network_bytes)
    try:
        for name in NETWORKS:
            path = folder / f"{name}.json"
            known = load_table(path) if path.exists() else None
            is_wanted = match in name and (known is None or len(known.rows) < rows)
            if is_wanted and time.monotonic() < end:
                save_table(measured_table(name, known, runner, rows, seed, end), path)
    finally:
        runner.close()


def confirm(paths: Sequence[Path]) -> None:
    """Measure the best rows of tables again; SearchError for a table of another task."""
    runner = NativeRunner(native_target(), 1, 0, network_bytes=network_bytes)
    try:
        for path in paths:
            table = load_table(path)
            save_table(confirmed(table, path, runner), path)
    finally:
        runner.close()


def confirmed(table: SearchTable, path: Path, runner: NativeRunner) -> SearchTable:
    """A table with the best rows measured again."""
    task, space = replayed_task_of(table, path)
    ranked = sorted(table.rows, key=lambda row: row.seconds or math.inf)
    count = math.ceil(CONFIRMED_SHARE * len(ranked))
    best, others = ranked[:count], ranked[count : len(ranked) // 2]
    controls = others[:: max(1, len(others) // CONTROLS)]
    schedules = [space.schedule(row.genome) for row in (*best, *controls)]
    times = measured_in_turn(runner, task, schedules, ROUNDS)
    speed = median(
        row.seconds / now
        for row, now in zip(controls, times[len(best) :], strict=True)
        if row.seconds is not None and now is not None
    )
    again = {row.genome: now and now * speed for row, now in zip(best, times, strict=False)}
    rows = (replace(row, seconds=again.get(row.genome, row.seconds)) for row in table.rows)
    found = replace(table, rows=tuple(rows))
    print(f"{path}: best {_best(table):.1f} us, again {_best(found):.1f} us", end="")
    print(f", with the machine at {speed:.0%} of its speed", flush=True)
    return found


def _best(table: SearchTable) -> float:
    """The best time of a table, in microseconds."""
    return 1e6 * min(row.seconds for row in table.rows if row.seconds is not None)


def measured_in_turn(
    runner: NativeRunner, task: Task, schedules: Sequence[Schedule], rounds: int
) -> list[float | None]:
    """The median seconds of schedules that are measured in turn; None for one that fails."""
    drafts = [runner.draft(task, schedule) for schedule in schedules]
    prepared = list(runner.prepare(task, drafts, None))
    times: list[list[float]] = [[] for _ in prepared]
    for _ in range(rounds):
        for item, own in zip(prepared, times, strict=True):
            seconds = runner.measure(task, item, None).seconds
            own += [] if seconds is None else [seconds]
    return [median(own) if own else None for own in times]


def measured_table(
    name: str, known: SearchTable | None, runner: NativeRunner, rows: int, seed: int, end: float
) -> SearchTable:
    """The table of a network's largest task, as far as it is measured at `end`."""
    task = largest_task(name, seed)
    space = ProgramSpace(task.plan, machine_of(native_target()), 1)
    found = {} if known is None else described_rows(known, space)
    before = len(found)
    genomes = [g for g in different_genomes(space, rows, random.Random(seed)) if g not in found]
    genomes = genomes[: rows - before]
    batches = [genomes[first : first + BATCH] for first in range(0, len(genomes), BATCH)]
    drafts: list[Draft] = []
    start = time.monotonic()
    for batch, following in pairwise([[], *batches, []]):
        under_way = runner.prepare(task, drafts, None)
        drafts = _drafts(runner, task, space, following)  # written while the others are compiled
        for genome, item in zip(batch, list(under_way), strict=True):
            found[genome] = _row(genome, item, runner, task, space)
        if time.monotonic() > end:
            break
    rate = (len(found) - before) / (time.monotonic() - start)
    times = sorted(row.seconds for row in found.values() if row.seconds is not None)
    best, middle = times[0] * 1e6, times[len(times) // 2] * 1e6
    print(f"{name}: {len(found)} schedules of {space.space.size}, {rate:.1f} a second", flush=True)
    print(f"  best {best:.1f} us, median {middle:.1f} us", flush=True)
    return SearchTable(name, space.space.choices, tuple(found.values()), FEATURE_NAMES)


def _drafts(
    runner: NativeRunner, task: Task, space: ProgramSpace, genomes: Sequence[Genome]
) -> list[Draft]:
    return [runner.draft(task, space.schedule(genome)) for genome in genomes]


def _row(
    genome: Genome, item: Prepared, runner: NativeRunner, task: Task, space: ProgramSpace
) -> TableRow:
    seconds = runner.measure(task, item, None).seconds
    return TableRow(genome, tuple(space.features(item.schedule)), seconds)


def different_genomes(space: ProgramSpace, count: int, generator: random.Random) -> list[Genome]:
    """Random genomes that stand for different schedules, fewer if the space has not so many."""
    genomes: dict[object, Genome] = {}
    for _ in range(50 * count):
        genome = space.space.random(generator)
        genomes.setdefault(space.schedule(genome).to_json(), genome)
        if len(genomes) == count:
            break
    return list(genomes.values())


if __name__ == "__main__":
    main()
