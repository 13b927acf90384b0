"""Which candidate's code is running, noted in the log: only that one is to blame for a death."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

import logs
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.log_errors import log_errors
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.tasks import Task


class RunningMarks:
    """Marks of candidates that this process has claimed in a log; threads take turns."""

    def __init__(self, path: str | PathLike[str], scope: TuningScope) -> None:
        self._path = path
        self._scope = scope
        self._turn = threading.Lock()
        self._log: logs.TuningLog | None = None

    @contextmanager
    def __call__(self, task: Task, schedule: Schedule) -> Iterator[None]:
        """Within the block the code of a candidate runs, and may take this machine down."""
        scope = self._scope
        key = logs.Key(
            task.key.digest, scope.target, scope.threads, scope.code_version, schedule.to_json()
        )
        self._set(key, running=True)
        try:
            yield
        finally:
            self._set(key, running=False)

    def close(self) -> None:
        """Let go of the log."""
        with self._turn, log_errors():
            log, self._log = self._log, None
            if log is not None:
                log.close()

    def _set(self, key: logs.Key, *, running: bool) -> None:
        with self._turn, log_errors():
            if self._log is None:
                self._log = logs.open_log(self._path, create=False, threads=True)
            self._log.set_running(key, running)
