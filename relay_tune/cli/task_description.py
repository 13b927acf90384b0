"""What a tuning log says of a task, read with care: a log may come from a stranger."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from relay_tune.runtime.machine_limits import Bound, MachineLimits

_LONGEST = 72


@dataclass(frozen=True, slots=True)
class TaskDescription:
    """A task for people.

    Attributes:
        title: the primitive in words, or its key, shortened.
        operations: arithmetic operations of one run; 0 if not known.
        bytes: what one run reads and writes at least; 0 if not known.
    """

    title: str
    operations: float = 0.0
    bytes: float = 0.0

    def bound(self, limits: MachineLimits) -> Bound | None:
        """The least time on a machine with these limits; None where no work is known."""
        if not self.operations + self.bytes:
            return None
        return limits.bound(self.operations, self.bytes)


def task_description(text: str | None, workload: str) -> TaskDescription:
    """The description in a log (JSON), or the key of the task where there is none."""
    fields = _fields(text)
    title = fields.get("title")
    return TaskDescription(
        _shortened(title if isinstance(title, str) and title else workload),
        _number(fields.get("operations")),
        _number(fields.get("bytes")),
    )


def _fields(text: str | None) -> Mapping[str, object]:
    try:
        fields = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e30 else 0.0


def _shortened(title: str) -> str:
    line = " ".join(title.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
