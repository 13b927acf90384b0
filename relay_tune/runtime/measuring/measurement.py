"""The outcome of measuring one candidate."""

from __future__ import annotations

from enum import StrEnum

from relay_tune.quick_dataclass import dataclass


class Outcome(StrEnum):
    """How measuring a candidate ended; the values are those of a tuning log's statuses.

    One that is `IMPLAUSIBLE` gave right answers, in less time than its work can take.
    """

    OK = "ok"
    IMPLAUSIBLE = "implausible"
    WRONG = "wrong"
    CRASH = "crash"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    COMPILE_ERROR = "compile_error"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement of a candidate.

    Attributes:
        outcome: only `OK` has a time.
        seconds: of one run: the fastest sample.
        spread: how far the median sample lies above, in seconds.
        message: why it failed.
    """

    outcome: Outcome
    seconds: float | None = None
    spread: float | None = None
    message: str = ""
