"""Checks of single values, shared by records, tasks, runs and limits.

Each check returns the value as it will be read back from SQLite, or raises `LogError`.
"""

import math

from logs.digest import parse_json
from logs.errors import LogError

MAXIMUM_TEXT = 1 << 20  # characters; a longer text is a mistake, such as a captured output
MAXIMUM_INTEGER = (1 << 63) - 1  # what SQLite can hold


def checked_text(name: str, value: object, *, empty: bool = False) -> str:
    """`value` if it is text that UTF-8 can store, not empty unless `empty` allows it."""
    if not isinstance(value, str):
        raise bad_field(name, f"must be text, not {type(value).__name__}")
    if not value and not empty:
        raise bad_field(name, "must not be empty")
    if len(value) > MAXIMUM_TEXT:
        raise bad_field(name, f"has {len(value)} characters, the most is {MAXIMUM_TEXT}")
    if not _is_utf8(value):
        raise bad_field(name, "is not valid Unicode text")
    return value


def checked_json(name: str, value: object) -> str:
    """`value` if it is a JSON text."""
    text = checked_text(name, value)
    try:
        parse_json(text)
    except ValueError as error:
        raise bad_field(name, f"is not JSON: {error}") from error
    return text


def checked_count(name: str, value: object) -> int:
    """`value` if it is an integer of at least 1 that SQLite can hold."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise bad_field(name, f"must be an integer, not {type(value).__name__}")
    if not 1 <= value <= MAXIMUM_INTEGER:
        raise bad_field(name, f"is {value}, must be at least 1 and fit 64 bits")
    return value


def checked_real(name: str, value: object) -> float:
    """`value` as a finite float that is not negative; -0.0 becomes 0.0, as in SQLite."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise bad_field(name, f"must be a number, not {type(value).__name__}")
    if not _is_finite(value):
        raise bad_field(name, f"is {value}, must be finite")
    if value < 0:
        raise bad_field(name, f"is {value}, must not be negative")
    return float(value) + 0.0


def checked_seconds(name: str, value: object) -> float:
    """`value` as a finite time above zero."""
    seconds = checked_real(name, value)
    if seconds == 0:
        raise bad_field(name, "is 0, must be above 0")
    return seconds


def bad_field(name: str, fault: str) -> LogError:
    """The error for one field that holds what it may not hold."""
    return LogError(f"{name} {fault}", f"field {name!r}", "correct the value before it is logged")


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of float
        return False
