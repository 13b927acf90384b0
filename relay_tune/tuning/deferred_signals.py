"""Steps that a signal must not divide: Ctrl-C, SIGTERM and the end of the time wait for them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = ("SIGINT", "SIGTERM", "SIGALRM")
HELD = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Signals within the block take effect at its end, as if they had come just then.

    Keep the block short. Only the main thread is ever interrupted, so that there is nothing to hold
    in another one; a signal without a handler in Python is not held.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in HELD}
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    arrived: list[tuple[int, FrameType | None]] = []
    for number in held:
        signal.signal(number, lambda came, frame: arrived.append((came, frame)))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for came, frame in arrived[:1]:
            held[signal.Signals(came)](came, frame)
