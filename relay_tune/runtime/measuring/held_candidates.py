"""Candidates that the measuring worker has checked and may be asked to time."""

from __future__ import annotations

from relay_tune.runtime.measuring.candidate import CandidateRun
from relay_tune.runtime.measuring.task_memory import held_bytes

MOST_HELD = 32
"""More than a round of tuning has."""


class HeldCandidates:
    """Checked candidates by number: the newest ones, as many as memory allows, but always one."""

    def __init__(self, most: int = MOST_HELD, most_bytes: int | None = None) -> None:
        self._most = most
        self._most_bytes = held_bytes() if most_bytes is None else most_bytes
        self._runs: dict[int, CandidateRun] = {}

    def put(self, number: int, run: CandidateRun) -> None:
        """Hold a candidate; those that are let go end their threads."""
        self._runs[number] = run
        while len(self._runs) > 1 and self._is_too_much():
            self._runs.pop(next(iter(self._runs))).close()

    def get(self, number: int) -> CandidateRun | None:
        """A candidate, if it is still held."""
        return self._runs.get(number)

    def _is_too_much(self) -> bool:
        size = sum(run.bytes for run in self._runs.values())
        return len(self._runs) > self._most or size > self._most_bytes
