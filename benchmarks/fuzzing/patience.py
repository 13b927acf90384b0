"""Waiting for the answer of another process, which may hang."""

from __future__ import annotations

from multiprocessing.connection import Connection

import psutil

STEP_SECONDS = 1.0


def has_answered(channel: Connection, pid: int, patience: float) -> bool:
    """Whether process `pid` sends something, or ends, before it has been idle for too long.

    `patience` is in seconds. Those in which the process works do not count: work has a limit of its
    own, and takes longer on a loaded machine. Of a time in which both processes were stopped, at
    most one step counts.
    """
    idle, used = 0.0, _processor_seconds(pid)
    while not channel.poll(STEP_SECONDS):
        before, used = used, _processor_seconds(pid)
        idle += STEP_SECONDS if used == before else 0.0
        if idle >= patience:
            return False
    return True


def _processor_seconds(pid: int) -> float:
    """What a process has used; 0 if it is gone."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)
