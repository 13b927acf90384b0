"""What SQLite says, put into words that help."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from logs.errors import LogError

# Primary result codes of SQLite (https://www.sqlite.org/rescode.html).
_BUSY_CODES = (5, 6)
_READ_ONLY_CODES = (8, 3)
_STORAGE_CODES = (10, 13)
_DAMAGE_CODES = (11,)
_CANNOT_OPEN_CODES = (14,)
_NOT_A_DATABASE_CODES = (26,)

_EXPLANATIONS: tuple[tuple[tuple[int, ...], str, str], ...] = (
    (
        _BUSY_CODES,
        "the log is locked by another process for too long",
        "end the process that holds it, or use another log",
    ),
    (
        _READ_ONLY_CODES,
        "the log cannot be written",
        "make the file and its folder writable, or use another log",
    ),
    (
        _STORAGE_CODES,
        "the log's storage refuses to read or write",
        "free some disk space, or check size limits and the disk, then run again",
    ),
    (
        _DAMAGE_CODES,
        "the log is damaged or truncated",
        "restore a copy, or move the file away and start a new log",
    ),
    (
        _CANNOT_OPEN_CODES,
        "the log cannot be opened",
        "check that the file exists and that you may read it and its folder",
    ),
    (
        _NOT_A_DATABASE_CODES,
        "the file is not a tuning log",
        "name another file; this one was left untouched",
    ),
)


_MAY_WRITE = "check that you may write the file and its folder, or name a log in another folder"

# What the sqlite3 module raises: the second one when a damaged schema is not valid text.
DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)


def primary_code(error: Exception) -> int:
    """The primary result code of an SQLite error, 0 if it did not come from SQLite itself."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether the error is a lock that may be gone at the next try."""
    return primary_code(error) in _BUSY_CODES


def explained(error: Exception, path: Path, *, writes: bool = False) -> LogError:
    """The `LogError` for one of the `DATABASE_ERRORS`, raised about the log at `path`.

    `writes` tells that it was opened for writing, which needs more rights than reading.
    """
    code = _DAMAGE_CODES[0] if isinstance(error, UnicodeDecodeError) else primary_code(error)
    if writes and code in _CANNOT_OPEN_CODES:
        return LogError(f"the log cannot be opened for writing [{error}]", str(path), _MAY_WRITE)
    for codes, what, remedy in _EXPLANATIONS:
        if code in codes:
            return LogError(f"{what} [{error}]", str(path), remedy)
    return LogError(f"the log cannot be used [{error}]", str(path), "check it, or use another log")


@contextmanager
def explaining(path: Path, *, writes: bool = False) -> Iterator[None]:
    """Turn every SQLite error of the block, which may write, into a `LogError`."""
    try:
        yield
    except DATABASE_ERRORS as error:
        raise explained(error, path, writes=writes) from error
