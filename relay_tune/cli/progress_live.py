"""The progress of a tuning run on a terminal, drawn anew as it goes on."""

from __future__ import annotations

from time import monotonic
from typing import Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from relay_tune.cli.units import clock_text, rate_text, share_text, time_text
from relay_tune.tuning.budget import TRIALS_PER_TASK
from relay_tune.tuning.events import (
    CostModelFailed,
    Event,
    Measured,
    PhaseStarted,
    RatesDisturbed,
    RunStarted,
    TaskFinished,
    TaskStarted,
)

BAR_WIDTH = 40


class LiveProgress:
    """Task, best time, share of the machine's limit, the model's time, speed, time left."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream)
        self._live = Live(console=self._console, auto_refresh=False)
        self._of_trials = ""
        self._began = monotonic()
        self._task = "-"
        self._newest: Measured | None = None

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Take an event in and draw."""
        match event:
            case RunStarted():
                is_limited = event.trials < TRIALS_PER_TASK * event.tasks
                self._of_trials = f" of {event.trials}" if is_limited else ""
            case PhaseStarted():
                self._task = f"{event} ..."
            case TaskStarted():
                self._task = f"{event.number}/{event.tasks}  {event.title}"
            case Measured():
                self._newest = event
            case TaskFinished():
                best = time_text(event.best)
                self._console.print(f"done: {event.title}: {best}, {event.reason}", markup=False)
            case CostModelFailed() | RatesDisturbed():
                self._console.print(str(event), markup=False)
        self._live.update(self._table(), refresh=True)

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_row("task", self._task.replace("[", "\\["))
        newest = self._newest
        if newest is None:
            return table
        share = share_text(newest.limit_share, newest.limit_name)
        rates = rate_text(newest.operations, newest.bytes, newest.best)
        table.add_row("best", f"{time_text(newest.best)}, {rates}")
        table.add_row("", share)
        table.add_row("model", time_text(newest.model_seconds))
        spent = monotonic() - self._began
        table.add_row("", ProgressBar(spent + newest.eta_seconds, spent, width=BAR_WIDTH))
        left = clock_text(newest.eta_seconds)
        candidates = f"{newest.trials}{self._of_trials} candidates"
        table.add_row("", f"{candidates}, {newest.rate:.1f}/s, {left} left")
        return table
