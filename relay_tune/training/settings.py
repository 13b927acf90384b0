"""Checks of the numbers that optimisers and schedules are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from numbers import Real
from types import MappingProxyType

from relay_tune.arguments import wrong_type
from relay_tune.errors import InputError

POSITIVE = "a number above 0"
NOT_NEGATIVE = "a number that is not negative"
SHARE = "a number from 0 to below 1"

_HOLDS: Mapping[str, Callable[[float], bool]] = MappingProxyType(
    {
        POSITIVE: lambda value: value > 0,
        NOT_NEGATIVE: lambda value: value >= 0,
        SHARE: lambda value: 0 <= value < 1,
    }
)


def require_numbers(owner: object, needed: Mapping[str, str]) -> None:
    """Raise InputError where an attribute is not what is needed, by the attribute's name."""
    for name, kind in needed.items():
        require_number(getattr(owner, name), f"{name} of {type(owner).__name__}", kind)


def require_number(value: object, what: str, kind: str) -> None:
    """Raise InputError where a value is no finite number of a kind, one of those above."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong_type(what, "a number", value, f"Give {kind}.")
    if not isfinite(value) or not _HOLDS[kind](float(value)):
        raise InputError(f"{what} is {value}, but must be {kind}.", remedy="Give such a number.")


def require_rate(value: object, what: str) -> None:
    """Raise InputError where a learning rate is neither a number nor a schedule."""
    if isinstance(value, type) or not callable(getattr(value, "at", None)):
        require_number(value, what, NOT_NEGATIVE)
