"""An end that holds: what still runs when the time is over is interrupted, as by Ctrl-C."""

from __future__ import annotations

import math
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from relay_tune.quick_dataclass import dataclass

AGAIN_SECONDS = 1.0
"""So long after it came in vain, the alarm comes again."""

LEAST_SECONDS = 1e-3
"""A timer of no time would never come."""


class TimeIsOver(BaseException):
    """The time is over within a step that is then given up; no user ever sees it."""


@dataclass(slots=True)
class _Alarm:
    """The handler of a block's timer."""

    has_raised: bool = False

    def take(self, number: int, frame: FrameType | None) -> None:
        """Raise TimeIsOver once, unless another error is being handled: that ends the block too."""
        if self.has_raised or sys.exc_info()[0] is not None:
            return
        self.has_raised = True
        raise TimeIsOver


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """A block that TimeIsOver ends after so many seconds, whatever it is doing.

    Where signals are held (`deferred_signals`), it is raised behind. There is no limit in other
    threads than the main one, on systems without timers, where the caller has an alarm of its own,
    and within another such block; what looks at a clock has to do so there.
    """
    if not math.isfinite(seconds) or not _is_free():
        yield
        return
    signal.signal(signal.SIGALRM, _Alarm().take)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, LEAST_SECONDS), AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _is_free() -> bool:
    """Whether this process can have an alarm, and has none."""
    if not hasattr(signal, "setitimer"):
        return False
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
