"""Child processes that do dangerous or slow work, and never outlive the process that wants it.

Workers are started afresh (never forked), in a session of their own: Ctrl-C reaches the parent
alone, and a worker is killed together with everything it started.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from relay_tune.system_limits import told_limits

PACKAGE_PARENT = Path(__file__).resolve().parents[2]

KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}
"""Has glibc keep what is freed: workers allocate the same large blocks again for each request, and
memory that is new to a process costs more than the work on it."""

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def start_worker(module: str, arguments: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """`python -m module arguments...` with pipes to its input and output.

    The child imports the same packages as this process, whatever the current folder holds. Raises
    SystemLimitError where there may be no more processes.
    """
    paths = [str(PACKAGE_PARENT), os.environ.get("PYTHONPATH", "")]
    environment = {
        **KEEP_MEMORY,
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    with told_limits():
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )


def die_with_parent() -> None:
    """Called by a worker: the kernel kills it when its parent is gone, however busy it is.

    Where the system has no such service (it is Linux that has), the end of the worker's input
    ends it, once it looks.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def kill_worker(process: subprocess.Popen[bytes]) -> None:
    """End a worker and what it started, at once."""
    if process.poll() is not None:
        return
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        return  # it ended by itself in the meantime
