"""Reads a task from a tuning log, with care: it may come from a stranger."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field

from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.machine_limits import Bound, MachineLimits

_LONGEST = 120


@dataclass(frozen=True, slots=True)
class TaskDescription:
    """A task for people.

    Attributes:
        title: the primitive in words, or its key, shortened.
        operations: arithmetic operations of one run; 0 if not known.
        bytes: what one run reads and writes at least; 0 if not known.
        works: what the algorithms of the task have to do; none if not known.
        fields: all that the log says.
        nodes: the names of the user's nodes that run it.
    """

    title: str
    operations: float = 0.0
    bytes: float = 0.0
    works: tuple[KernelWork, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()

    def operations_of(self, schedule: str) -> float | None:
        """The operations of one run under a schedule (JSON); None where they are not known."""
        chosen = _fields(schedule).get("algorithm", [])
        ways = self.fields.get("algorithms")
        for way in ways if isinstance(ways, list) else ():
            match way:
                case {"names": list(names), "operations": dict(operations)} if chosen in names:
                    return sum(map(_number, operations.values()))
        return None

    def bound(self, limits: MachineLimits) -> Bound | None:
        """The least time on a machine with these limits; None where no work is known."""
        return limits.least_bound(self.works) if self.works else None


def task_description(text: str | None, workload: str) -> TaskDescription:
    """The description in a log (JSON), or the key of the task where there is none."""
    fields = _fields(text)
    title = fields.get("title")
    ways = fields.get("algorithms")
    written = _number(fields.get("operations"))
    works = (_work(way, written) for way in ways) if isinstance(ways, list) else ()
    return TaskDescription(
        _shortened(title if isinstance(title, str) and title else workload),
        written,
        _number(fields.get("bytes")),
        tuple(work for work in works if work is not None),
        fields,
        _names(fields.get("nodes")),
    )


def _fields(text: str | None) -> Mapping[str, object]:
    try:
        fields = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _work(way: object, written: float) -> KernelWork | None:
    """The work of an algorithm; None where that is no description of it."""
    if not isinstance(way, dict) or not isinstance(way.get("operations"), dict):
        return None
    operations = {str(unit): int(_number(n)) for unit, n in way["operations"].items()}
    moved = int(_number(way.get("bytes")))
    return KernelWork(int(written), operations, moved) if sum(operations.values()) + moved else None


def _names(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e30 else 0.0


def _shortened(title: str) -> str:
    line = " ".join(title.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
