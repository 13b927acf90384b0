"""Who is at work: the identity of a process, and whether it still lives.

A process number alone is not enough, numbers are used again. The start time of the process, the
boot of the machine and the namespace of the numbers tell two bearers of one number apart.
"""

import os
import socket
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from logs.fields import checked_count, checked_text

_PROC = Path("/proc")


class Liveness(Enum):
    """What can be said of a process from here."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"  # on another machine, in another container, or no way to ask


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of one boot of one machine; texts are empty where the system does not tell."""

    host: str
    boot: str
    namespace: str
    pid: int
    started: str


def process_of(row: dict[str, Any]) -> ProcessIdentity:
    """The process that a row of the log names; raises `LogError` for impossible values."""
    return ProcessIdentity(
        checked_text("host", row["host"]),
        checked_text("boot", row["boot"], empty=True),
        checked_text("namespace", row["namespace"], empty=True),
        checked_count("pid", row["pid"]),
        checked_text("started", row["started"], empty=True),
    )


def this_process() -> ProcessIdentity:
    """The identity of the calling process."""
    pid = os.getpid()
    return ProcessIdentity(socket.gethostname(), _boot(), _namespace(), pid, _started(pid))


def liveness(process: ProcessIdentity) -> Liveness:
    """Whether `process` still runs, as far as this machine can tell."""
    here = this_process()
    if process.host != here.host:
        return Liveness.UNKNOWN
    if process.boot and here.boot and process.boot != here.boot:
        return Liveness.DEAD  # the machine went down since
    if process.namespace != here.namespace:
        return Liveness.UNKNOWN
    if here.started:
        return _alive_if(process.started == _started(process.pid))
    if sys.platform == "win32":  # there, signal 0 would end the process
        return Liveness.UNKNOWN
    return _alive_if(_answers(process.pid))


def _alive_if(condition: bool) -> Liveness:
    return Liveness.ALIVE if condition else Liveness.DEAD


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _started(pid: int) -> str:
    """Start time in clock ticks since boot (proc(5), field 22); "" if dead or not known."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return ""
    state, *rest = text.rpartition(")")[2].split()  # the name before it may hold blanks
    if state in "ZX":
        return ""
    return rest[18]


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return os.readlink(_PROC / "self/ns/pid")
    except OSError:
        return ""
