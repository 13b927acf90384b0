"""Packages that others import where they are installed, and that the command does not need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

UNUSED = ("sklearn",)
"""xgboost imports scikit-learn for classes of its own that nobody here uses; with the statistics of
scipy, which come along, that takes four fifths of the time of its import."""


@contextmanager
def unused_left_out() -> Iterator[None]:
    """Have these packages look missing to what is imported meanwhile, unless they are there.

    For processes of our own alone: who imported xgboost so could not use those classes.
    """
    absent = [name for name in UNUSED if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
