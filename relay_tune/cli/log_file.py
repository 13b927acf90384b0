"""Opening tuning logs for the verbs that read or write them directly."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from logs import TuningLog, open_log
from relay_tune.tuning.log_errors import log_errors


@contextmanager
def opened(path: str, *, readonly: bool = True, create: bool = False) -> Iterator[TuningLog]:
    """The log at `path`; whatever is wrong with it becomes an InputError.

    Damaged rows that were left out are told on standard error.
    """
    with log_errors(), open_log(path, readonly=readonly, create=create) as log:
        yield log
        if log.damaged_rows:
            print(
                f"tune: note: {log.damaged_rows} damaged rows of {path} were left out; "
                f"`tune log check {path}` names them",
                file=sys.stderr,
            )
