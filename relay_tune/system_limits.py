"""Limits of a system on threads, processes and open files, told as what they are.

Containers and `ulimit` set them. "Resource temporarily unavailable" and "can't start new thread",
as the system and Python call them, name neither the limit nor the way out.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from relay_tune.errors import RelayError, SystemLimitError

_NO_THREAD = "can't start new thread"
"""What CPython says, in a RuntimeError, where the system gives no thread."""

_PROCESSES = (
    "The system allows this user or container no more threads or processes.",
    "Raise the limit (`ulimit -u`, --pids-limit of a container), or end other processes.",
)
_FILES = (
    "This process may open no more files.",
    "Raise the limit: `ulimit -n 1024` in a shell.",
)
_CAUSES = {errno.EAGAIN: _PROCESSES, errno.EMFILE: _FILES, errno.ENFILE: _FILES}


def limit_error(error: Exception) -> RelayError | None:
    """The error for a limit that an exception of Python came from; None for any other one."""
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        message, remedy = _PROCESSES
        return SystemLimitError(message, remedy=remedy)
    if isinstance(error, OSError) and error.errno in _CAUSES:
        message, remedy = _CAUSES[error.errno]
        return SystemLimitError(message, remedy=remedy)
    return None


@contextmanager
def told_limits() -> Iterator[None]:
    """A block that starts threads or processes; SystemLimitError where a limit forbids it."""
    try:
        yield
    except (RuntimeError, OSError) as error:
        told = limit_error(error)
        if told is None:
            raise
        raise told from error
