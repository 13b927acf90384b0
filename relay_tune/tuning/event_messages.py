"""Messages of a tuning run to the logger of the package."""

from __future__ import annotations

import logging

from relay_tune.logger import LOGGER
from relay_tune.runtime.describe import counted
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
from relay_tune.tuning.result_text import microseconds


def logged(progress: Progress) -> Progress:
    """A callback that logs each event, and tells `progress` of it."""

    def tell(event: Event) -> None:
        level, message = event_message(event)
        LOGGER.log(level, message)
        progress(event)

    return tell


def event_message(event: Event) -> tuple[int, str]:
    """The level and the text for an event; failures are warnings, single candidates DEBUG."""
    match event:
        case RunStarted():
            known = f"{event.known} of {counted(event.trials, 'candidate')} in the log"
            kernels = counted(event.tasks, "kernel")
            return logging.INFO, f"tuning {kernels}, {known}, {event.seconds:.0f} s"
        case TaskStarted():
            return logging.DEBUG, f"kernel {event.number} of {event.tasks}: {event.title}"
        case Measured(seconds=None):
            return logging.DEBUG, f"{event.title}: {event.outcome.value} {event.message}".rstrip()
        case Measured():
            times = f"{microseconds(event.seconds)}, best {microseconds(event.best)}"
            return logging.DEBUG, f"{event.title}: {times}"
        case TaskFinished():
            best = microseconds(event.best)
            return logging.INFO, f"{event.title}: finished at {best}, {event.reason}"
        case PhaseStarted():
            return logging.INFO, str(event)
        case CostModelFailed() | RatesDisturbed():
            return logging.WARNING, str(event)
