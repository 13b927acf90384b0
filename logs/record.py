"""One measurement of one schedule: the value that travels in and out of the log."""

from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter

from logs.digest import digest_of, parse_json
from logs.fields import (
    bad_field,
    checked_count,
    checked_json,
    checked_real,
    checked_seconds,
    checked_text,
)


class Status(StrEnum):
    """How a measurement ended. Only `OK` has a time that may be compared."""

    OK = "ok"
    IMPLAUSIBLE = "implausible"  # took less time than its work can take
    WRONG = "wrong"  # ran, but the answer differs from the reference
    CRASH = "crash"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    COMPILE_ERROR = "compile_error"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Key:
    """What makes a measurement the same one: at most one record exists for each key."""

    workload: str
    target: str
    threads: int
    code_version: str
    schedule: str

    def __post_init__(self) -> None:
        checked_text("workload", self.workload)
        checked_text("target", self.target)
        checked_count("threads", self.threads)
        checked_text("code_version", self.code_version)
        checked_json("schedule", self.schedule)


@dataclass(frozen=True, slots=True)
class Record:
    """The result of measuring one schedule.

    workload      canonical key of the task's computation
    target        such as ``x86_64-linux-gnu:znver5+avx512``
    threads       number of threads the kernel ran on, at least 1
    code_version  version of the code generator
    schedule      JSON text; equal schedules must be equal texts (see `canonical_json`)
    status        a `Status`
    created       Unix time of the measurement, in seconds
    source        name of the host that measured
    seconds       run time, finite and above 0; always there for ``ok``
    spread        width of the distribution of run times, in seconds, or None
    message       short reason of a failure
    features      JSON list of finite numbers, or ""
    measurements  how often this key has been measured; the other fields tell of the newest

    Raises `LogError` for a field that holds anything else.
    """

    workload: str
    target: str
    threads: int
    code_version: str
    schedule: str
    status: Status
    created: float
    source: str
    seconds: float | None = None
    spread: float | None = None
    message: str = ""
    features: str = ""
    measurements: int = 1

    def __post_init__(self) -> None:
        Key(self.workload, self.target, self.threads, self.code_version, self.schedule)
        object.__setattr__(self, "status", _checked_status(self.status))
        object.__setattr__(self, "created", checked_real("created", self.created))
        checked_text("source", self.source)
        checked_text("message", self.message, empty=True)
        checked_text("features", self.features, empty=True)
        checked_count("measurements", self.measurements)
        self._check_times()
        _check_features(self.features)

    @property
    def key(self) -> Key:
        """The part of the record that is unique in a log."""
        return Key(self.workload, self.target, self.threads, self.code_version, self.schedule)

    @property
    def digest(self) -> str:
        """SHA-256 over all fields, stored beside them and compared when they are read."""
        return digest_of(*_content(self))

    def _check_times(self) -> None:
        if self.status is Status.OK and self.seconds is None:
            raise bad_field("seconds", "is missing, a record with status 'ok' needs it")
        if self.seconds is not None:
            object.__setattr__(self, "seconds", checked_seconds("seconds", self.seconds))
        if self.spread is not None:
            object.__setattr__(self, "spread", checked_real("spread", self.spread))


_content = attrgetter(*(field.name for field in fields(Record)))


def _checked_status(value: str) -> Status:
    try:
        return Status(value)
    except ValueError:
        known = ", ".join(Status)
        raise bad_field("status", f"is {value!r}, must be one of {known}") from None


def _check_features(text: str) -> None:
    if not text:
        return
    try:
        values = parse_json(text)
    except ValueError as error:
        raise bad_field("features", f"is not JSON: {error}") from error
    if not isinstance(values, list):
        raise bad_field("features", "must be a JSON list of numbers")
    if not all(type(value) in (int, float) for value in values):
        raise bad_field("features", "must hold numbers only")
