"""The records of a log: append, look up, list.

One row for each key: measuring a key again replaces the row, whatever the outcome, and adds to its
count of `measurements`. The newest measurement is believed because it was made on purpose, to
confirm or to correct the older one; keeping the better of the two would reward noise.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlite_utils import Database

from logs.claims import drop_claim
from logs.errors import LogError
from logs.record import Record, Status
from logs.rows import Row, fastest_rows, find_row, matching_rows, record_of, write_row
from logs.store import Store


@dataclass(frozen=True, slots=True)
class WorkloadSummary:
    """What is known of one workload on one target, thread count and code version.

    `best_seconds` is None as long as no schedule ran correctly.
    """

    workload: str
    target: str
    threads: int
    code_version: str
    records: int
    ok: int
    best_seconds: float | None
    newest: float


class Measurements:
    """The table of records of one open log."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._damaged: set[int] = set()

    @property
    def damaged_rows(self) -> int:
        """How many different rows have been skipped so far because they cannot be believed."""
        return len(self._damaged)

    def append(self, record: Record) -> None:
        """Store `record` and end the claim on its key; on disk when this returns."""
        with self._store.writing() as database:
            _append(database, record)
            drop_claim(database, record.key)

    def select(self, **wanted: str | int | None) -> Iterator[Record]:
        """The believable records whose fields equal the wanted values (None: any)."""
        with self._store.reading() as database:
            for row in matching_rows(database, **wanted):
                record = self._believed(row)
                if record is not None:
                    yield record

    def best(self, **wanted: str | int) -> Record | None:
        """The correct record with the smallest time; of equal ones the first."""
        with self._store.reading() as database:
            rows = fastest_rows(database, status=Status.OK.value, **wanted)
            believed = (self._believed(row) for row in rows)
            return next((record for record in believed if record is not None), None)

    def unsettled(self, **wanted: str | int) -> list[str]:
        """The schedules of matching rows that are damaged or implausible."""
        with self._store.reading() as database:
            rows = list(matching_rows(database, **wanted))
        return [str(row["schedule"]) for row in rows if not self._is_settled(row)]

    def _is_settled(self, row: Row) -> bool:
        record = self._believed(row)
        return record is not None and record.status is not Status.IMPLAUSIBLE

    def _believed(self, row: Row) -> Record | None:
        try:
            return record_of(row)
        except LogError:
            self._damaged.add(row["id"])
            return None


def summaries(records: Iterable[Record]) -> list[WorkloadSummary]:
    """One summary for each workload, target, thread count and code version, in sorted order."""
    groups: dict[tuple[str, str, int, str], list[Record]] = {}
    for record in records:
        group = (record.workload, record.target, record.threads, record.code_version)
        groups.setdefault(group, []).append(record)
    return [_summary(group) for _, group in sorted(groups.items())]


def _append(database: Database, record: Record) -> None:
    row = find_row(database, record.key)
    if row is None:
        write_row(database, record, None)
        return
    earlier = _measurements(row)
    write_row(database, replace(record, measurements=earlier + record.measurements), row["id"])


def _measurements(row: Row) -> int:
    """How often the key of `row` has been measured; a damaged row counts for nothing."""
    try:
        return record_of(row).measurements
    except LogError:
        return 0


def _summary(records: list[Record]) -> WorkloadSummary:
    first = records[0]
    correct = [record for record in records if record.status is Status.OK]
    times = [record.seconds for record in correct if record.seconds is not None]
    return WorkloadSummary(
        first.workload,
        first.target,
        first.threads,
        first.code_version,
        records=len(records),
        ok=len(correct),
        best_seconds=min(times, default=None),
        newest=max(record.created for record in records),
    )
