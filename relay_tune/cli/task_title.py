"""What to call a task of a tuning log."""

from __future__ import annotations

import json

_LONGEST = 72


def task_title(description: str | None, workload: str) -> str:
    """The title in a task's description (JSON), or its key where there is none, shortened."""
    title = _described(description) or workload
    line = " ".join(title.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _described(description: str | None) -> str:
    if description is None:
        return ""
    try:
        fields = json.loads(description)
    except (ValueError, RecursionError):  # a log may come from a stranger
        return ""
    title = fields.get("title") if isinstance(fields, dict) else None
    return title if isinstance(title, str) else ""
