"""Whether this process may have the memory that any work needs, asked before anything is loaded."""

from __future__ import annotations

import importlib.util

from relay_tune.errors import InputError

if importlib.util.find_spec("resource") is not None:
    import resource

LEAST_BYTES = 1 << 30
"""Below, libraries fail to load, or wait for ever for threads that cannot be started."""


def require_address_space() -> None:
    """Raise InputError where the system allows less than `LEAST_BYTES` of addresses."""
    if importlib.util.find_spec("resource") is None:
        return
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed == resource.RLIM_INFINITY or allowed >= LEAST_BYTES:
        return
    raise InputError(
        f"This process may use {allowed >> 20} MB of addresses, compiling needs "
        f"{LEAST_BYTES >> 20} MB at least.",
        remedy="Raise the limit: `ulimit -v unlimited` in a shell.",
    )
