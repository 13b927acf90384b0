"""How a tuning run shows its progress: live on a terminal, as lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from relay_tune.cli.progress_live import LiveProgress
from relay_tune.cli.units import clock_text, rate_text, share_text, time_text
from relay_tune.runtime.describe import counted
from relay_tune.tuning.budget import TRIALS_PER_TASK
from relay_tune.tuning.events import (
    CostModelFailed,
    Event,
    Measured,
    PhaseStarted,
    Progress,
    RatesDisturbed,
    RunStarted,
    TaskFinished,
    TaskStarted,
)


@contextmanager
def shown_progress(stream: TextIO) -> Iterator[Progress]:
    """A callback for a tuning run that shows its events on `stream`."""
    if not stream.isatty():
        yield LineProgress(stream)
        return
    live = LiveProgress(stream)
    with live:
        yield live


class LineProgress:
    """One line when the run begins, a task improves, and a task ends."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._best: dict[str, float] = {}
        self._of_trials = ""

    def __call__(self, event: Event) -> None:
        """Print the line of an event, if it has one."""
        line = self._line(event)
        if line:
            print(line, file=self._stream, flush=True)

    def _line(self, event: Event) -> str:
        match event:
            case RunStarted():
                limit = f"{clock_text(event.seconds)} minutes"
                if event.trials < TRIALS_PER_TASK * event.tasks:
                    self._of_trials = f"/{event.trials}"
                    limit = f"{counted(event.trials, 'candidate')} and {limit}"
                known = f"{counted(event.known, 'record')} in the log"
                return f"{counted(event.tasks, 'kernel')}, {known}; up to {limit}"
            case Measured():
                return self._improvement(event)
            case TaskFinished():
                return f"done: {event.title}: {time_text(event.best)}, {event.reason}"
            case CostModelFailed() | RatesDisturbed():
                return str(event)
            case PhaseStarted():
                return f"{event} ..." if event.done == 0 else ""
            case TaskStarted():
                return ""

    def _improvement(self, event: Measured) -> str:
        if event.best is None or event.best >= self._best.get(event.digest, float("inf")):
            return ""
        self._best[event.digest] = event.best
        return (
            f"{event.title}: {time_text(event.best)}, "
            f"{rate_text(event.operations, event.bytes, event.best)}, "
            f"{share_text(event.limit_share, event.limit_name)}; "
            f"model {time_text(event.model_seconds)}; {event.trials}{self._of_trials} candidates, "
            f"{event.rate:.1f}/s, {clock_text(event.eta_seconds)} left"
        )
