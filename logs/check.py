"""The examination of a log: SQLite's own check, the schema, and every digest."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlite_utils import Database

from logs.errors import LogError
from logs.failures import DATABASE_ERRORS, explained
from logs.limit_rows import limit_of
from logs.plausibility import LeastTimes
from logs.record import Status
from logs.rows import matching_rows, record_of
from logs.schema import SCHEMA_VERSION
from logs.store import Store
from logs.task_rows import task_of

_MOST_FAULTS = 100  # of SQLite's own check


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was found in a log.

    `schema_version` is that of the file, `current_version` the one that this program writes (they
    differ for an old log that was opened read-only); `records` counts the believable ones;
    `damaged` names each row that is not; `faults` are what SQLite's own check found. `implausible`
    names the rows whose times no machine can reach: they are kept, and never used.
    """

    path: str
    schema_version: int
    current_version: int
    records: int
    damaged: tuple[str, ...]
    faults: tuple[str, ...]
    implausible: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing at all is wrong."""
        return not self.damaged and not self.faults


def check_store(store: Store) -> CheckReport:
    """Examine the open log; reads only."""
    with store.reading() as database:
        faults = list(_integrity_faults(database))
        damaged: list[str] = []
        try:
            rows = _examine(database, "records", record_of, damaged)
            _examine(database, "tasks", task_of, damaged)
            _examine(database, "limits", limit_of, damaged)
            implausible = tuple(_implausible(database))
        except DATABASE_ERRORS as error:  # the pages are too damaged to read on
            rows, implausible = 0, ()
            faults.append(explained(error, store.path).what)
    return CheckReport(
        str(store.path),
        store.file_version,
        SCHEMA_VERSION,
        rows,
        tuple(damaged),
        tuple(faults),
        implausible,
    )


def _implausible(database: Database) -> Iterator[str]:
    """A line for each record whose time cannot be."""
    least = LeastTimes(database)
    for row in matching_rows(database):
        try:
            record = least.judged(record_of(row))
        except LogError:
            continue  # among the damaged ones
        if record.status is Status.IMPLAUSIBLE:
            yield f"records, row {row['id']}: {record.message}"


def _integrity_faults(database: Database) -> Iterator[str]:
    try:
        for (finding,) in database.execute(f"PRAGMA integrity_check({_MOST_FAULTS})"):
            if finding != "ok":
                yield finding
    except DATABASE_ERRORS as error:
        yield str(error)


def _examine(
    database: Database, table: str, parse: Callable[[dict[str, Any]], object], damaged: list[str]
) -> int:
    """Count the rows that `parse` accepts, and add a line to `damaged` for each other one."""
    accepted = 0
    for row in database[table].rows_where(select="rowid AS row_number, *"):
        try:
            parse(row)
            accepted += 1
        except LogError as error:
            damaged.append(f"{table}, row {row['row_number']}: {error.what}")
    return accepted
