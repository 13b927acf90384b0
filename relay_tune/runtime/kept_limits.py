"""The limits of this machine, kept in a file from process to process.

Other work can only lower a rate, and may do so for minutes: what one process measures beside it
would choose other kernels than the next one does. So the first processes measure, the highest rates
of all of them stay, and the later ones read these.

The file lies in the user's folder for caches, in `relay_tune/` of `$XDG_CACHE_HOME` or `~/.cache`
(XDG Base Directory Specification 0.8). Where there is none, each process measures for itself.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from math import isfinite
from pathlib import Path

from relay_tune.codegen.target import Target
from relay_tune.logger import LOGGER
from relay_tune.new_files import new_files
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.cache_sizes import cache_sizes
from relay_tune.runtime.machine_limits import MachineLimits

FORMAT = 1
"""Counted up when the file has another form, or the loops measure something else."""

PROCESSES = 8
"""So many measure. On a shared processor one in three found a rate on the other side of an edge."""

Measure = Callable[[], MachineLimits]


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the file has for a number of threads.

    Attributes:
        limits: the highest rates so far.
        processes: how many measured them.
    """

    limits: MachineLimits
    processes: int

    @property
    def is_certain(self) -> bool:
        """Whether no further process has to measure."""
        return self.processes >= PROCESSES and not self.limits.disturbed


def kept_limits(
    target: Target, threads: int, measure: Measure, folder: Path | None = None
) -> MachineLimits:
    """The limits of so many threads: the highest rates that a process has measured here.

    Args:
        target: what the measuring loops are compiled for.
        threads: of a run.
        measure: measures the limits now.
        folder: where files are kept; by default the user's folder for caches.
    """
    path = _file(target, folder if folder is not None else _user_folder())
    if path is None:
        return measure()
    kept = _read(path, threads)
    if kept is not None and kept.is_certain:
        return kept.limits
    limits, processes = measure(), 1
    kept = _read(path, threads)  # others may have measured meanwhile
    if kept is not None:
        limits, processes = limits.joined(kept.limits), kept.processes + 1
    _write(path, _Kept(limits, processes))
    return limits


def _user_folder() -> Path | None:
    """The user's folder for caches of ours; None where the system knows no home of the user."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():  # others have to be ignored
        return named / "relay_tune"
    try:
        return Path.home() / ".cache" / "relay_tune"
    except RuntimeError:
        return None


def _file(target: Target, folder: Path | None) -> Path | None:
    """The file of a processor: a home may be shared by machines, and a machine may be moved."""
    if folder is None:
        return None
    known = json.dumps([FORMAT, target.key, target.features, cache_sizes()])
    return folder / f"limits-{hashlib.sha256(known.encode()).hexdigest()[:16]}.json"


def _read(path: Path, threads: int) -> _Kept | None:
    """What a file has for so many threads; None where that is nothing."""
    entries = _entries(path)
    limits = MachineLimits.from_entries(entries, threads)
    processes = entries.get(_count_name(threads), 1.0)
    return None if limits is None else _Kept(limits, int(min(processes, PROCESSES)))


def _write(path: Path, kept: _Kept) -> None:
    """Keep limits beside those of other numbers of threads, where the folder can be written."""
    name = _count_name(kept.limits.threads)
    entries = {**_entries(path), **kept.limits.entries(), name: float(kept.processes)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_files(path) as (file,):
            file.write(json.dumps(entries, indent=1).encode())
    except OSError as error:
        LOGGER.debug("limits of this machine are not kept in %s: %s", path, error)


def _entries(path: Path) -> dict[str, float]:
    """The finite numbers of a file by name; none where it is not there or damaged."""
    try:
        rows = json.loads(path.read_bytes())
        entries = {name: float(value) for name, value in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}
    return {name: value for name, value in entries.items() if isfinite(value)}


def _count_name(threads: int) -> str:
    return f"processes, {threads} threads"
