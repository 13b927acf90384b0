"""Connections to a log file: how they open, wait for each other, and commit.

Every write is its own ``BEGIN IMMEDIATE`` transaction. A deferred one (the habit of Python's
sqlite3 and of sqlite-utils) takes the write lock only at its first write, where SQLite can no
longer wait and fails at once with "database is locked".
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from logs.errors import LogError
from logs.failures import explained, is_busy, primary_code

BUSY_SECONDS = 60.0  # how long to wait for the transactions of other processes
_PAUSE_SECONDS = 0.02
_CANNOT_READ_CODES = (8, 14)  # READONLY and CANTOPEN of SQLite: no shared memory beside the file

Result = TypeVar("Result")


def connect(path: Path, *, create: bool, threads: bool = False) -> sqlite3.Connection:
    """A connection that reads and writes; it creates an empty file only if `create`.

    With `threads`, other threads than this one may use it too, one at a time.
    """
    mode = "rwc" if create else "rw"
    return _connect(f"{path.absolute().as_uri()}?mode={mode}", threads=threads)


def connect_readonly(path: Path) -> sqlite3.Connection:
    """A connection that only reads, also from a folder where nothing can be written.

    The last connection to close removes the two files of the write-ahead log, but not one that is
    opened for reading: unless a writer's work is beside the log, this one could write, and refuses.

    Raises `LogError` if such a folder holds unfinished work of a writer beside the log: reading
    the log without it would silently leave out records.
    """
    mode = "ro" if _has_unfinished_work(path) else "rw"
    connection = _connect(f"{path.absolute().as_uri()}?mode={mode}")
    try:
        connection.execute("PRAGMA query_only=ON")
        retrying(lambda: connection.execute("SELECT count(*) FROM sqlite_master").fetchone())
    except sqlite3.OperationalError as error:
        connection.close()
        if primary_code(error) not in _CANNOT_READ_CODES or not path.exists():
            raise
        return _connect_immutable(path, error)
    return connection


def use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work at once, and sync every commit to the disk.

    Where the file system has no shared memory, SQLite keeps its rollback journal: slower, as safe.
    """
    retrying(lambda: connection.execute("PRAGMA journal_mode=WAL").fetchone())
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA fullfsync=ON")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction: committed at the end of the block, rolled back on any exception.

    An interrupt may come as soon as it has begun, so that the beginning is inside of the guard.
    """
    try:
        retrying(lambda: connection.execute("BEGIN IMMEDIATE"))
        yield
        retrying(lambda: connection.execute("COMMIT"))
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Several reads that see one state of the log, whatever other processes write meanwhile."""
    try:
        connection.execute("BEGIN")
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def retrying(action: Callable[[], Result]) -> Result:
    """The result of `action`, repeated while the log is busy, for `BUSY_SECONDS` at most.

    SQLite waits for most locks by itself, but not while another process recovers the log, turns
    on its write-ahead log, or closes it as the last one.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_SECONDS)


def _connect(uri: str, *, threads: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=not threads
    )
    # A flipped bit may break the encoding: keep such text apart from every valid text.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA trusted_schema=OFF")  # the file may come from a stranger
    connection.execute("PRAGMA cell_size_check=ON")
    return connection


def _has_unfinished_work(path: Path) -> bool:
    """Whether a writer, alive or killed, has left transactions beside the log."""
    return any(_has_content(_beside(path, suffix)) for suffix in ("-wal", "-journal"))


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}{suffix}")


def _connect_immutable(path: Path, error: sqlite3.Error) -> sqlite3.Connection:
    journal = _beside(path, "-wal")
    if _has_content(journal):
        raise LogError(
            "the log has unfinished work beside it that cannot be read here",
            str(journal),
            "copy both files to a writable folder and open the copy",
        ) from explained(error, path)
    return _connect(f"{path.absolute().as_uri()}?immutable=1&mode=ro")
