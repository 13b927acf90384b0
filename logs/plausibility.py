"""The least time that a record can have, as far as the log itself can tell.

The description of a workload may list its ways to compute under "algorithms": operations by the
unit that computes them, and the bytes that are read or written at least once. The limits of a
target name rates: "UNIT operations/s, N threads", and "MEMORY bytes/s, N threads" of each memory.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlite_utils import Database

from logs.errors import LogError
from logs.limit_rows import believed_limits
from logs.record import Record, Status
from logs.rows import matching_rows, record_of, write_row
from logs.task_rows import believed_tasks

TOLERANCE = 1.02
"""Rates are measured; a time may lie below the least one by this factor."""

BASE_UNIT = "float32"
"""What a unit computes slower than this one may be computed by this one."""

BOTH_WAYS = 2.0
"""Reading and writing overlap, so that at best twice the bytes move that can be read."""

LEAST_RATE, MOST_RATE = 1e6, 1e18
"""A rate outside of this range is none of a machine."""

OPERATIONS = " operations/s, "
BYTES = " bytes/s, "


def least_seconds(
    description: Mapping[str, Any], limits: Mapping[str, float], threads: int
) -> float | None:
    """The time that no way to compute a workload goes below, in seconds; None if not known.

    Operations at the rate of what computes them, bytes at the rate of the fastest memory.
    """
    operations = _rates(limits, OPERATIONS, threads)
    memory = max(_rates(limits, BYTES, threads).values(), default=0.0)
    ways = description.get("algorithms")
    if not isinstance(ways, list) or not operations:
        return None
    known = [_least_of(way, operations, memory) for way in ways]
    times = [seconds for seconds in known if seconds is not None]
    return min(times) if times and len(times) == len(known) else None


def is_implausible(seconds: float, least: float | None) -> bool:
    """Whether a time is less than the least one, beyond what measured rates can be wrong by."""
    return least is not None and seconds * TOLERANCE < least


def implausible_message(seconds: float, least: float) -> str:
    """Why a time is not believed."""
    return f"{seconds:.3g} s measured, but the work takes {least:.3g} s at least"


def mark_implausible(database: Database) -> int:
    """Give all records that took less than the least time their status; how many there were.

    Runs inside the transaction of the caller.
    """
    least = LeastTimes(database)
    marked = 0
    for row in matching_rows(database, status=Status.OK.value):
        try:
            record = least.judged(record_of(row))
        except LogError:
            continue  # `check` reports such rows
        if record.status is Status.IMPLAUSIBLE:
            write_row(database, record, row["id"])
            marked += 1
    return marked


class LeastTimes:
    """The least times of records, from the descriptions and limits that a log holds."""

    def __init__(self, database: Database) -> None:
        self._descriptions = {
            workload: _description(text) for workload, text in believed_tasks(database)
        }
        self._limits: dict[str, dict[str, float]] = {}
        for target, name, value in believed_limits(database):
            self._limits.setdefault(target, {})[name] = value

    def judged(self, record: Record) -> Record:
        """The record, its status changed where it is `ok` and took less than the least time."""
        description = self._descriptions.get(record.workload, {})
        limits = self._limits.get(record.target, {})
        least = least_seconds(description, limits, record.threads)
        if record.status is not Status.OK or record.seconds is None or least is None:
            return record
        if not is_implausible(record.seconds, least):
            return record
        message = implausible_message(record.seconds, least)
        return replace(record, status=Status.IMPLAUSIBLE, message=message)


def _description(text: str) -> Mapping[str, Any]:
    found = json.loads(text)
    return found if isinstance(found, dict) else {}


def _rates(limits: Mapping[str, float], kind: str, threads: int) -> dict[str, float]:
    """The best rates of a kind by what has them.

    Threads do at most their number of times what one of them does; rates of fewer threads count so,
    as all threads at once are rarely undisturbed on a busy machine.
    """
    rates: dict[str, float] = {}
    for name, rate in limits.items():
        measured = re.fullmatch(rf"(.*){re.escape(kind)}([1-9][0-9]{{0,5}}) threads", name)
        if measured is None or not is_rate(rate) or int(measured[2]) > threads:
            continue
        scaled = rate * (threads / int(measured[2]))
        rates[measured[1]] = max(scaled, rates.get(measured[1], 0.0))
    return rates


def is_rate(value: float) -> bool:
    """Whether a machine may do so many operations, or move so many bytes, in a second."""
    return LEAST_RATE <= value <= MOST_RATE


def _least_of(way: object, operations: Mapping[str, float], memory: float) -> float | None:
    """The least time of one way to compute; None where it is not described."""
    if not isinstance(way, dict) or not isinstance(way.get("operations"), dict):
        return None
    counts = way["operations"]
    moved = way.get("bytes", 0)
    if not all(_is_count(value) for value in (*counts.values(), moved)):
        return None
    computing = sum(_seconds(unit, count, operations) for unit, count in counts.items())
    return max(computing, moved / (BOTH_WAYS * memory) if memory else 0.0)


def _seconds(unit: str, count: float, rates: Mapping[str, float]) -> float:
    """The least time of operations; at the best rate of all where that of a unit is not known."""
    fastest = max(rates.values())
    return count / max(rates.get(unit, fastest), rates.get(BASE_UNIT, 0.0))


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e30
