"""An open log file: known to be ours, brought to this version, ready for reads and writes."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlite_utils import Database

from logs.connection import connect, connect_readonly, transaction, use_write_ahead_log
from logs.errors import LogError
from logs.failures import explaining
from logs.schema import SCHEMA_VERSION, migrate, refuse_foreign


class Store:
    """The database of one log, and the process that opened it.

    `file_version` is the schema version of the file; read-only, it may be an old one.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, file_version: int, *, readonly: bool
    ) -> None:
        self.path = path
        self.readonly = readonly
        self.file_version = file_version
        self._connection = connection
        self._database = _wrapped(connection)
        self._owner = os.getpid()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """The database for reads; errors of SQLite come out as `LogError`."""
        self._check_usable()
        with explaining(self.path):
            yield self._database

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """The database inside one write transaction; on disk when the block has ended."""
        self._check_usable()
        if self.readonly:
            raise self._fault("the log was opened for reading only", "open it without readonly")
        with explaining(self.path, writes=True), transaction(self._connection):
            yield self._database

    def close(self) -> None:
        """Let go of the file; closing twice is allowed."""
        if not self._closed and self._owner == os.getpid():
            self._connection.close()
        self._closed = True

    def _check_usable(self) -> None:
        if self._closed:
            raise self._fault("the log has been closed", "open it again")
        if self._owner != os.getpid():
            raise self._fault("the log was opened by a parent process", "open it in each process")

    def _fault(self, what: str, remedy: str) -> LogError:
        return LogError(what, str(self.path), remedy)


def open_store(path: Path, *, create: bool, readonly: bool, threads: bool = False) -> Store:
    """Open the log at `path`; see `logs.open_log` for the rules and the errors."""
    _check_path(path, create=create and not readonly)
    with explaining(path, writes=not readonly):
        if readonly:
            return _open_readonly(path)
        return _open_writable(path, create=create, threads=threads)


def _open_writable(path: Path, *, create: bool, threads: bool) -> Store:
    is_new = not path.exists()
    connection = connect(path, create=create, threads=threads)
    with ExitStack() as on_failure:
        if is_new:
            on_failure.callback(_remove_empty, path)
        on_failure.callback(connection.close)
        database = _wrapped(connection)
        version = refuse_foreign(database, path)
        _refuse_empty(version, path, allowed=create)
        use_write_ahead_log(connection)
        migrate(database)
        with transaction(connection):
            pass  # finds out now, not after the first measurement, whether the log can be written
        on_failure.pop_all()
    return Store(path, connection, SCHEMA_VERSION, readonly=False)


def _remove_empty(path: Path) -> None:
    """Remove a log that could not be written, as on a full disk, and has nothing in it."""
    if path.exists() and path.stat().st_size == 0:
        path.unlink()


def _open_readonly(path: Path) -> Store:
    connection = connect_readonly(path)
    with ExitStack() as on_failure:
        on_failure.callback(connection.close)
        version = refuse_foreign(_wrapped(connection), path)
        _refuse_empty(version, path, allowed=False)
        on_failure.pop_all()
    if version < SCHEMA_VERSION:
        connection = _migrated_copy(connection)
    return Store(path, connection, version, readonly=True)


def _migrated_copy(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A copy in memory, in the schema of today, of an old log that must not be written."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    copy.text_factory = connection.text_factory
    connection.backup(copy)
    connection.close()
    migrate(_wrapped(copy))
    return copy


def _wrapped(connection: sqlite3.Connection) -> Database:
    return Database(connection, recursive_triggers=False, execute_plugins=False)


def _check_path(path: Path, *, create: bool) -> None:
    if path.is_dir():
        raise LogError("the log is a folder", str(path), "name a file")
    if path.is_fifo() or path.is_socket():  # SQLite would wait for somebody at the other end
        raise LogError("the log is no regular file", str(path), "name a file")
    if not path.parent.is_dir():
        raise LogError("the log's folder does not exist", str(path.parent), "create the folder")
    if not create and not path.exists():
        raise LogError("there is no such log", str(path), "check the name, or tune to create it")


def _refuse_empty(version: int, path: Path, *, allowed: bool) -> None:
    if version == 0 and not allowed:
        raise LogError("the log is an empty file", str(path), "name another file, or tune first")
