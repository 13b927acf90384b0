"""How much memory this process has now: not its peak, which earlier tests may have raised."""

from __future__ import annotations

import gc

import psutil


def resident_bytes() -> int:
    """Bytes in memory, after garbage is collected."""
    gc.collect()
    return int(psutil.Process().memory_info().rss)
