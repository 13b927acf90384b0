"""Ctrl-C and SIGTERM end work once, in order, however often they come."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

from relay_tune.quick_dataclass import dataclass

ENDING_SECONDS = 10.0
"""Signals that come so soon after the first are part of it; what ends is not ended halfway."""


class Terminated(KeyboardInterrupt):
    """SIGTERM: the process is asked to end."""


@dataclass(slots=True)
class Ending:
    """What came within a block.

    Attributes:
        terminated: whether SIGTERM did.
        since: when the last signal took effect, None before the first (`time.monotonic`).
    """

    terminated: bool = False
    since: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether any signal came."""
        return self.since is not None

    def take(self, number: int, frame: FrameType | None) -> None:
        """The handler of both signals: KeyboardInterrupt or Terminated, unless an end is begun."""
        now = time.monotonic()
        is_repeated = self.since is not None and now < self.since + ENDING_SECONDS
        self.terminated |= number == signal.SIGTERM
        if is_repeated:
            return
        self.since = now
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def ending_signals(*, pass_on: bool = True) -> Iterator[Ending]:
    """A block that Ctrl-C ends with KeyboardInterrupt, and SIGTERM with Terminated.

    With `pass_on`, a process that SIGTERM would have ended by default is ended by it after the
    block. A handler that the block itself sets stays after it. Handlers of the caller's own stay in
    force, and so do those of an outer block; other threads than the main one have none.
    """
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return
    replaced = [
        (number, handler)
        for number, handler in (
            (signal.SIGINT, signal.default_int_handler),
            (signal.SIGTERM, signal.SIG_DFL),
        )
        if signal.getsignal(number) is handler
    ]
    # A stack goes on with what is left where a late signal interrupts one of its steps.
    with ExitStack() as end:
        end.callback(_pass_on, ending, pass_on)
        for number, handler in replaced:
            end.callback(_put_back, ending, number, handler)
            signal.signal(number, ending.take)
        yield ending


def _put_back(ending: Ending, number: signal.Signals, handler: Any) -> None:
    """The handler of before, unless the block has set another one."""
    if signal.getsignal(number) == ending.take:
        signal.signal(number, handler)


def _pass_on(ending: Ending, wanted: bool) -> None:
    if ending.terminated and wanted:
        signal.raise_signal(signal.SIGTERM)
