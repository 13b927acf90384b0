"""Memory that this process has freed, and the system does not have back yet."""

from __future__ import annotations

import ctypes
import sys


def give_back_memory() -> None:
    """Have the C library return freed memory to the system, where it can (glibc).

    Once arrays of some megabytes were freed, it keeps such blocks between others that live on.
    """
    if sys.platform != "linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
