"""Tables of schedules in the choices and features of the present version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.searching.table_tasks import NETWORKS, largest_task
from relay_tune.codegen.target import native_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.tasks import Task
from search import Genome, SearchError, SearchTable, Space, load_table, save_table
from search.table import TableRow


def describe(paths: Sequence[Path]) -> None:
    """Rewrite tables with the choices and features that this version has for their schedules.

    Rows that this version has no genome for are dropped. SearchError for a table of another task.
    """
    for path in paths:
        table = load_table(path)
        _, space = task_of(table, path)
        rows = described_rows(table, space)
        print(f"{path}: {len(rows)} of {len(table.rows)} rows")
        save_table(
            SearchTable(table.task, space.space.choices, tuple(rows.values()), FEATURE_NAMES), path
        )


def task_of(table: SearchTable, path: Path) -> tuple[Task, ProgramSpace]:
    """The task of a table and its schedules, as this version has them."""
    if table.task not in NETWORKS:
        raise SearchError(f"{path} is a table of {table.task!r}, none of: {list(NETWORKS)}")
    task = largest_task(table.task, 0)
    return task, ProgramSpace(task.plan, machine_of(native_target()), 1)


def replayed_task_of(table: SearchTable, path: Path) -> tuple[Task, ProgramSpace]:
    """The same for a table whose genomes are those of this version; else SearchError."""
    task, space = task_of(table, path)
    if table.choices != space.space.choices:
        raise SearchError(
            f"{path} has other choices than this version: "
            f"run `python -m benchmarks.searching.tables describe {path}`"
        )
    return task, space


def described_rows(table: SearchTable, space: ProgramSpace) -> dict[Genome, TableRow]:
    """The rows of a table that a space knows, as it describes them."""
    choices = Space(table.choices)
    rows: dict[Genome, TableRow] = {}
    for row in table.rows:
        genome = converted(choices, row.genome, space.space)
        if genome is not None:
            features = tuple(space.features(space.schedule(genome)))
            rows.setdefault(genome, TableRow(genome, features, row.seconds))
    return rows


def converted(source: Space, genome: Genome, wanted: Space) -> Genome | None:
    """The genome that means the same in another space, or None if that has no such genome.

    Choices mean the same where their names and values do; those that the genome lacks are idle.
    """
    counting = {source.choices[place].name: place for place in source.active(genome)}
    missing = counting.keys() - {choice.name for choice in wanted.choices}
    genes: list[int] = []
    for choice in wanted.choices:
        place = counting.get(choice.name)
        if place is None:
            genes.append(choice.idle)
            continue
        value = source.choices[place].values[genome[place]]
        if value not in choice.values:
            return None
        genes.append(choice.values.index(value))
    found = wanted.normal(tuple(genes))
    return found if not missing and wanted.valid(found) else None
