"""The machine's limits that a tuning log keeps."""

from __future__ import annotations

from os import PathLike

import logs
from relay_tune.codegen.target import Target
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.tuning.log_errors import log_errors


def logged_limits(log: str | PathLike[str], target: Target, threads: int) -> MachineLimits | None:
    """Limits that so many threads of a target can reach, or None if the log does not tell.

    Raises InputError if the log cannot be read.
    """
    with log_errors(), logs.open_log(log, create=False, readonly=True) as opened:
        return MachineLimits.from_entries(opened.limits(target.key), threads)
