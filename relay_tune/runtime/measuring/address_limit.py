"""A bound on the memory that a process may ask for, where the system has one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("resource") is not None:
    import resource

_STATUS = Path("/proc/self/statm")


def limit_address_space(further_bytes: int) -> None:
    """Let this process grow by at most `further_bytes` from now on; Linux only.

    Beyond that, `malloc` gives null and Python raises MemoryError.
    """
    if sys.platform != "linux":
        return
    pages = int(_STATUS.read_text().split()[0])
    wanted = pages * resource.getpagesize() + further_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
