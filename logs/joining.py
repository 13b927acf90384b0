"""Bringing records of another log, or of an exchange file, into a log.

Joining is safe to repeat, and the order in which logs are joined does not matter: of two records of
one key the later one stays, of two equally late ones the one whose text sorts last, and the count
of measurements is the larger one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field, replace
from itertools import islice
from typing import TypeVar

from sqlite_utils import Database

from logs.digest import canonical_json
from logs.errors import LogError
from logs.limit_rows import Limit, believed_limits, write_limit
from logs.record import Record
from logs.rows import find_row, record_of, write_row
from logs.store import Store
from logs.task_rows import Task, find_task, write_task

_BATCH = 200  # records in one transaction: few syncs, and others wait for milliseconds only

Item = TypeVar("Item")


@dataclass(slots=True)
class MergeReport:
    """What became of the records that were brought in.

    `added` were new, `replaced` took the place of an earlier measurement, `kept` changed nothing
    because the log had the same or a later one; `skipped` counts the unusable ones by reason.
    """

    added: int = 0
    replaced: int = 0
    kept: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


def join_records(store: Store, records: Iterable[Record], report: MergeReport) -> None:
    """Bring `records` into the log, counting what became of each in `report`."""
    for batch in _batches(records):
        with store.writing() as database:
            outcomes = [_join(database, record) for record in batch]
        report.added += outcomes.count("added")
        report.replaced += outcomes.count("replaced")
        report.kept += outcomes.count("kept")


def join_tasks(store: Store, tasks: Iterable[Task]) -> None:
    """Add the tasks that the log does not know yet."""
    for batch in _batches(tasks):
        with store.writing() as database:
            for workload, description in batch:
                if find_task(database, workload) is None:
                    write_task(database, workload, description)


def join_limits(store: Store, limits: Iterable[Limit]) -> None:
    """Add the machine limits that the log does not know yet."""
    for batch in _batches(limits):
        with store.writing() as database:
            known = {(target, name) for target, name, _ in believed_limits(database)}
            for target, name, value in batch:
                if (target, name) not in known:
                    write_limit(database, target, name, value)


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    remaining = iter(items)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def _join(database: Database, record: Record) -> str:
    row = find_row(database, record.key)
    if row is None:
        write_row(database, record, None)
        return "added"
    try:
        ours = record_of(row)
    except LogError:  # the stored row is damaged, anything believable is better
        write_row(database, record, row["id"])
        return "replaced"
    winner = _joined(ours, record)
    if winner == ours:
        return "kept"
    write_row(database, winner, row["id"])
    return "replaced"


def _joined(ours: Record, theirs: Record) -> Record:
    later = max(ours, theirs, key=_precedence)
    return replace(later, measurements=max(ours.measurements, theirs.measurements))


def _precedence(record: Record) -> tuple[float, str]:
    return record.created, canonical_json(astuple(replace(record, measurements=1)))
