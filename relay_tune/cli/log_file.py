"""Opening tuning logs for the verbs that read or write them directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from logs import LogError, TuningLog, open_log
from relay_tune.errors import InputError


@contextmanager
def opened(path: str, *, readonly: bool = True, create: bool = False) -> Iterator[TuningLog]:
    """The log at `path`; whatever is wrong with it becomes an InputError."""
    try:
        with open_log(path, readonly=readonly, create=create) as log:
            yield log
    except LogError as error:
        raise InputError(error.what, where=error.where, remedy=error.remedy) from error
