"""When the command began: a limit of time counts from there, not from the end of all imports."""

from __future__ import annotations

import time


class _Start:
    """The moment; by default that of the first import."""

    moment = time.monotonic()


def begin() -> None:
    """The command begins now, in a process that may have run others."""
    _Start.moment = time.monotonic()


def running_seconds() -> float:
    """Seconds since the command began."""
    return time.monotonic() - _Start.moment
