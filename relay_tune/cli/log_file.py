"""Opening tuning logs for the verbs that read or write them directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from logs import TuningLog, open_log
from relay_tune.tuning.log_errors import log_errors


@contextmanager
def opened(path: str, *, readonly: bool = True, create: bool = False) -> Iterator[TuningLog]:
    """The log at `path`; whatever is wrong with it becomes an InputError."""
    with log_errors(), open_log(path, readonly=readonly, create=create) as log:
        yield log
