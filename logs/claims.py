"""Who is measuring what: the trace that a candidate leaves when it takes the machine down.

A claim is written before a schedule is measured and goes away with its record. What is left behind
by a process that died is *stale*. Where its code was *running*, the candidate may be to blame; one
that was only reserved, to be measured later, is not. A process that lives on this
machine never loses its claim, however slow it is; the lease decides only where nobody can ask
whether the process lives.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlite_utils import Database

from logs.errors import LogError
from logs.fields import checked_count, checked_real
from logs.process import Liveness, ProcessIdentity, liveness, process_of, this_process
from logs.record import Key, Status
from logs.rows import KEY_COLUMNS, find_row, key_filter, record_of
from logs.store import Store


@dataclass(frozen=True, slots=True)
class Claim:
    """One schedule that a process has begun to measure; times are Unix times in seconds.

    `attempts` counts the processes that ran its code, the present one included; `running` tells
    whether it does so now.
    """

    key: Key
    process: ProcessIdentity
    attempts: int
    claimed: float
    lease_until: float
    running: bool

    @property
    def is_stale(self) -> bool:
        """Whether the process is dead, or out of reach with its lease run out."""
        match liveness(self.process):
            case Liveness.ALIVE:
                return False
            case Liveness.DEAD:
                return True
            case Liveness.UNKNOWN:
                return time.time() > self.lease_until


class Claims:
    """The table of claims of one open log."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def claim(
        self,
        keys: Sequence[Key],
        *,
        lease_seconds: float,
        max_attempts: int,
        again: bool,
        running: bool,
    ) -> list[bool]:
        """See `TuningLog.claim_all`."""
        with self._store.writing() as database:
            return [
                _claimed(database, key, lease_seconds, max_attempts, again=again, running=running)
                for key in keys
            ]

    def set_running(self, key: Key, running: bool) -> None:
        """Note whether the code of a schedule runs that this process has claimed."""
        with self._store.writing() as database:
            claim = _find(database, key)
            if claim is not None and claim.process == this_process():
                condition, parameters = key_filter(key)
                database.execute(
                    f"UPDATE claims SET running = :running WHERE {condition}",
                    {**parameters, "running": int(running)},
                )

    def release(self, keys: Sequence[Key]) -> None:
        """Give up this process's claims on `keys`, as far as it has them, without results."""
        with self._store.writing() as database:
            for key in keys:
                claim = _find(database, key)
                if claim is not None and claim.process == this_process():
                    drop_claim(database, key)

    def all(self) -> list[Claim]:
        """All claims, oldest first."""
        with self._store.reading() as database:
            rows = database["claims"].rows_where(order_by="id")
            return [claim for claim in map(_claim_of, rows) if claim is not None]


def drop_claim(database: Database, key: Key) -> None:
    """Delete the claim on `key`, if any, inside the transaction of the caller."""
    database["claims"].delete_where(*key_filter(key))


def _claimed(
    database: Database,
    key: Key,
    lease_seconds: float,
    max_attempts: int,
    *,
    again: bool,
    running: bool,
) -> bool:
    if not again and _is_measured(database, key):
        return False
    attempts = _next_attempt(_find(database, key))
    if attempts is None or attempts > max_attempts:
        return False
    drop_claim(database, key)
    database["claims"].insert(_row(key, attempts, lease_seconds, running=running))
    return True


def _is_measured(database: Database, key: Key) -> bool:
    """Whether there is a record of a schedule, and one that settles what is known of it."""
    row = find_row(database, key)
    if row is None:
        return False
    try:
        return record_of(row).status is not Status.IMPLAUSIBLE
    except LogError:
        return False


def _next_attempt(claim: Claim | None) -> int | None:
    """The number of the attempt that may begin now; None while another process is at it."""
    if claim is None:
        return 1
    if claim.process == this_process():
        return claim.attempts  # a renewal of the lease
    return claim.attempts + claim.running if claim.is_stale else None


def _find(database: Database, key: Key) -> Claim | None:
    row = next(database["claims"].rows_where(*key_filter(key), limit=1), None)
    return None if row is None else _claim_of(row)


def _row(key: Key, attempts: int, lease_seconds: float, *, running: bool) -> dict[str, Any]:
    now = time.time()
    times = {"attempts": attempts, "claimed": now, "lease_until": now + lease_seconds}
    return {**asdict(key), **times, **asdict(this_process()), "running": int(running)}


def _claim_of(row: dict[str, Any]) -> Claim | None:
    """The claim that `row` stores; None for a damaged row, which then holds nobody up."""
    try:
        return Claim(
            Key(*(row[name] for name in KEY_COLUMNS)),
            process_of(row),
            checked_count("attempts", row["attempts"]),
            checked_real("claimed", row["claimed"]),
            checked_real("lease_until", row["lease_until"]),
            bool(row["running"]),
        )
    except LogError:
        return None
