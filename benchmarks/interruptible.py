"""Campaigns that are ended early still say what they found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from relay_tune.ending_signals import ending_signals


@contextmanager
def until_interrupted() -> Iterator[None]:
    """A block that Ctrl-C and SIGTERM end; the summary behind it is printed all the same."""
    try:
        with ending_signals(pass_on=False):
            yield
    except KeyboardInterrupt:
        print("interrupted; this is about what was done until then:", flush=True)
