"""Steps that a signal must not divide: Ctrl-C, SIGTERM and the end of the time wait for them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

NAMES = ("SIGINT", "SIGTERM", "SIGALRM")
HELD = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Signals within the block take effect at its end, as if they had come just then.

    Each of them does, once: Ctrl-C does not make a SIGTERM behind it unseen. Keep the block short.
    Only the main thread is ever interrupted, so that there is nothing to hold in another one; a
    signal without a handler in Python is not held.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in HELD}
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    arrived: dict[int, FrameType | None] = {}
    is_holding = True

    def take(number: int, frame: FrameType | None) -> None:
        """Note the signal; signals that come while handlers are put back take effect at once."""
        if is_holding:
            arrived.setdefault(number, frame)
        else:
            held[signal.Signals(number)](number, frame)

    # A stack goes on with what is left where one of its steps raises: the handlers' errors do.
    with ExitStack() as end:
        for number, handler in held.items():
            end.callback(signal.signal, number, handler)
            signal.signal(number, take)
        try:
            yield
        finally:
            is_holding = False
            for number, frame in reversed(arrived.items()):
                end.callback(held[signal.Signals(number)], number, frame)
