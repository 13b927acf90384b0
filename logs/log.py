"""The tuning log as its users see it: one object with all verbs."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Self

from logs.check import CheckReport, check_store
from logs.claims import Claim, Claims
from logs.errors import LogError
from logs.exchange import exported_lines, import_lines, write_lines
from logs.joining import MergeReport, join_limits, join_records, join_tasks
from logs.limits import Limits
from logs.measurements import Measurements, WorkloadSummary, summaries
from logs.plausibility import mark_implausible
from logs.record import Key, Record
from logs.runs import Run, Runs, RunState
from logs.store import Store, open_store
from logs.tasks import Tasks

DAMAGED = "damaged rows"  # reasons in a merge report
IMPLAUSIBLE = "times that no machine can reach"

_LEASE_SECONDS = 600.0
_MAX_ATTEMPTS = 2


def open_log(
    path: str | PathLike[str],
    *,
    create: bool = True,
    readonly: bool = False,
    threads: bool = False,
) -> "TuningLog":
    """Open the tuning log at `path`, bringing it to the schema of today.

    A missing or empty file becomes a new log if `create`; with `readonly` nothing is ever written,
    and an old log is migrated in memory only. Any number of processes may open, create and write
    one log at once; each process and thread needs a `TuningLog` of its own, but for one that is
    opened for `threads`, which take turns by a lock of the caller.

    Raises `LogError`, and leaves the file alone, if the path is a folder, missing, not a database,
    truncated, another program's database, from a newer version, or may not be read or written.
    """
    return TuningLog(open_store(Path(path), create=create, readonly=readonly, threads=threads))


class TuningLog:
    """An open log; use it in a ``with`` block. All methods raise `LogError` on failure.

    There is one record for each key (workload, target, threads, code version, schedule): measuring
    a key again replaces its record and adds to its count of `measurements`. A record is on disk
    when `append` returns. Rows that are damaged are never returned, only counted.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._measurements = Measurements(store)
        self._claims = Claims(store)
        self._tasks = Tasks(store)
        self._limits = Limits(store)
        self._runs = Runs(store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; closing twice is allowed."""
        self._store.close()

    @property
    def path(self) -> Path:
        """The file of this log."""
        return self._store.path

    @property
    def damaged_rows(self) -> int:
        """How many different damaged rows this object has skipped so far."""
        return self._measurements.damaged_rows

    def append(self, record: Record) -> None:
        """Store one measurement, in one transaction, and end the claim on its key."""
        self._measurements.append(record)

    def best(self, workload: str, target: str, threads: int, code_version: str) -> Record | None:
        """The fastest correct record; None if there is none for exactly these four."""
        return self._measurements.best(
            workload=workload, target=target, threads=threads, code_version=code_version
        )

    def history(
        self,
        workload: str | None = None,
        target: str | None = None,
        threads: int | None = None,
        code_version: str | None = None,
    ) -> Iterator[Record]:
        """The records that match, in the order in which their keys were first measured."""
        return self._measurements.select(
            workload=workload, target=target, threads=threads, code_version=code_version
        )

    def unsettled_schedules(
        self, workload: str, target: str, threads: int, code_version: str
    ) -> list[str]:
        """The schedules whose rows are damaged, or whose times no machine can reach."""
        return self._measurements.unsettled(
            workload=workload, target=target, threads=threads, code_version=code_version
        )

    def workloads(self) -> list[WorkloadSummary]:
        """One summary for each workload, target, thread count and code version."""
        return summaries(self.history())

    def claim(
        self,
        key: Key,
        *,
        lease_seconds: float = _LEASE_SECONDS,
        max_attempts: int = _MAX_ATTEMPTS,
        again: bool = False,
        running: bool = True,
    ) -> bool:
        """Note that this process is about to measure `key`; whether it may go ahead.

        False if a record exists that can be believed (unless `again`), if a living process is at
        it, or if `max_attempts` processes have died while they ran it. Claiming what one has renews
        the lease. What is not `running` yet is only reserved, until `set_running`.
        """
        return self.claim_all(
            [key],
            lease_seconds=lease_seconds,
            max_attempts=max_attempts,
            again=again,
            running=running,
        )[0]

    def claim_all(
        self,
        keys: Sequence[Key],
        *,
        lease_seconds: float = _LEASE_SECONDS,
        max_attempts: int = _MAX_ATTEMPTS,
        again: bool = False,
        running: bool = True,
    ) -> list[bool]:
        """`claim` for each of several keys, in one transaction."""
        return self._claims.claim(
            keys,
            lease_seconds=lease_seconds,
            max_attempts=max_attempts,
            again=again,
            running=running,
        )

    def set_running(self, key: Key, running: bool) -> None:
        """Note whether the code of a claimed key runs: who dies meanwhile may have died of it."""
        self._claims.set_running(key, running)

    def release(self, *keys: Key) -> None:
        """Give up this process's claims on `keys` without results, as after Ctrl-C."""
        self._claims.release(keys)

    def claims(self) -> list[Claim]:
        """All claims, oldest first."""
        return self._claims.all()

    def stale_claims(self) -> list[Claim]:
        """The claims whose processes died, oldest first.

        Claim such a key to try again, or append a record with status ``crash`` to give up.
        """
        return [claim for claim in self.claims() if claim.is_stale]

    def put_task(self, workload: str, description: str) -> None:
        """Store what `workload` is, as a JSON text; the newest description stays."""
        self._tasks.put(workload, description)

    def task(self, workload: str) -> str | None:
        """The description of `workload`, or None."""
        return self._tasks.get(workload)

    def put_limit(self, target: str, name: str, value: float) -> None:
        """Store what `target` can reach at most; the unit belongs into the name."""
        self._limits.put(target, name, value)

    def put_limits(self, target: str, values: Mapping[str, float]) -> None:
        """Store several limits by name, all of them or none."""
        self._limits.put_all(target, values)

    def limits(self, target: str) -> dict[str, float]:
        """The limits of `target` by name."""
        return self._limits.get(target)

    def begin_run(self, arguments: str) -> int:
        """Note the start of a tuning run with these arguments (JSON); returns its number."""
        return self._runs.begin(arguments)

    def end_run(self, run_id: int, state: RunState | str) -> None:
        """Note that a run is ``finished``, ``interrupted`` or ``failed``."""
        self._runs.end(run_id, state)

    def note_results(self, run_id: int, results: str) -> None:
        """Store what came out of a run (JSON), in place of what was stored before."""
        self._runs.note_results(run_id, results)

    def runs(self) -> list[Run]:
        """All runs, oldest first; one whose process died shows as interrupted."""
        return self._runs.all()

    def merge(self, other: str | PathLike[str]) -> MergeReport:
        """Join the records, tasks and limits of another log; the other one is only read.

        Safe to repeat and in any order: the later measurement of a key stays.
        """
        other_path = Path(other)
        with open_log(other_path, create=False, readonly=True) as source:
            if other_path.samefile(self.path):
                raise LogError("a log cannot join itself", str(other_path), "name another log")
            report = MergeReport()
            join_records(self._store, source.history(), report)
            join_tasks(self._store, source._tasks.all())
            join_limits(self._store, source._limits.all())
            if source.damaged_rows:
                report.skipped[DAMAGED] += source.damaged_rows
        return self._judged(report)

    def exported_lines(self) -> Iterator[str]:
        """The lines of the exchange file (JSON), without line ends."""
        return exported_lines(self._measurements, self._tasks.all(), self._limits.all())

    def export_json(self, path: str | PathLike[str]) -> None:
        """Write records, tasks and limits as JSON lines; the whole file or nothing."""
        write_lines(Path(path), self.exported_lines())

    def import_json(self, path: str | PathLike[str]) -> MergeReport:
        """Join a file that `export_json` wrote; unusable lines are skipped and counted."""
        return self._judged(import_lines(self._store, Path(path)))

    def _judged(self, report: MergeReport) -> MergeReport:
        """Mark times that cannot be, which other logs may have brought, and count them."""
        with self._store.writing() as database:
            marked = mark_implausible(database)
        if marked:
            report.skipped[IMPLAUSIBLE] += marked
        return report

    def check(self) -> CheckReport:
        """Examine the whole log: SQLite's integrity check, schema version, every digest."""
        return check_store(self._store)
