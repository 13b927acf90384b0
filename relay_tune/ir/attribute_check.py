"""Whether values fit the attributes that an operator declares.

The declaration is the operator's dataclass: its field names, their annotations, their defaults.
Annotations may be bool, int, float, str, None, unions, Literal, tuple[...], list[...] and Any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from relay_tune.ir.expr import Attributes, AttributeValue

_HINTS: dict[type[Attributes], dict[str, Any]] = {}  # resolving annotations is slow


class AttributeMismatch(ValueError):
    """A value that does not fit its declaration."""


def declared_attributes(record: type[Attributes]) -> Mapping[str, Field[Any]]:
    """The attributes of a record class, by name."""
    return {entry.name: entry for entry in fields(record) if entry.init}


def required_attributes(record: type[Attributes]) -> list[str]:
    """The names of the attributes that have no default."""
    return [name for name, entry in declared_attributes(record).items() if not has_default(entry)]


def has_default(entry: Field[Any]) -> bool:
    """Whether an attribute may be left out."""
    return entry.default is not MISSING or entry.default_factory is not MISSING


def default_value(entry: Field[Any]) -> object:
    """The default of an attribute, or MISSING."""
    return entry.default_factory() if entry.default_factory is not MISSING else entry.default


def fitted(record: type[Attributes], name: str, value: AttributeValue) -> AttributeValue:
    """`value` as the attribute `name` wants it; raises AttributeMismatch.

    An integer becomes a float, and a list a tuple (or a tuple a list), where that is declared.
    """
    return fitted_to(_hints(record)[name], value)


def fitted_to(hint: Any, value: AttributeValue) -> AttributeValue:
    """`value` as a type annotation wants it; raises AttributeMismatch."""
    origin = get_origin(hint)
    if hint is Any or isinstance(hint, str):
        return value
    if origin in (Union, UnionType):
        return _fitted_to_any(get_args(hint), value)
    if origin is Literal:
        if any(type(value) is type(choice) and value == choice for choice in get_args(hint)):
            return value
        raise AttributeMismatch
    if origin in (tuple, list) or hint in (tuple, list):
        return _fitted_sequence(origin or hint, get_args(hint), value)
    if hint is float and type(value) is int:
        return float(value)
    if hint in (None, NoneType):
        hint = NoneType
    if type(value) is not hint:
        raise AttributeMismatch
    return value


def describe(record: type[Attributes], name: str) -> str:
    """The declared type of an attribute, for messages."""
    return _describe_hint(_hints(record)[name])


def _describe_hint(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_describe_hint(choice) for choice in arguments)
    if origin is Literal:
        return " or ".join(repr(choice) for choice in arguments)
    if origin in (tuple, list):
        inner = [_describe_hint(part) for part in arguments if part is not Ellipsis]
        return f"{origin.__name__} of {', '.join(inner)}" if inner else f"empty {origin.__name__}"
    if hint is NoneType:
        return "None"
    return getattr(hint, "__name__", str(hint))


def _hints(record: type[Attributes]) -> dict[str, Any]:
    if record not in _HINTS:
        _HINTS[record] = get_type_hints(record)
    return _HINTS[record]


def _fitted_to_any(choices: Sequence[Any], value: AttributeValue) -> AttributeValue:
    exact = sorted(choices, key=lambda choice: choice is not type(value))
    for choice in exact:
        try:
            return fitted_to(choice, value)
        except AttributeMismatch:
            continue
    raise AttributeMismatch


def _fitted_sequence(
    kind: type[tuple[Any, ...]] | type[list[Any]], inner: Sequence[Any], value: AttributeValue
) -> AttributeValue:
    if not isinstance(value, tuple | list):
        raise AttributeMismatch
    if kind is list or (len(inner) == 2 and inner[1] is Ellipsis):
        inner = [inner[0] if inner else Any] * len(value)
    elif not inner:
        inner = [Any] * len(value) if kind is tuple else []
    if len(inner) != len(value):
        raise AttributeMismatch
    return kind(fitted_to(hint, part) for hint, part in zip(inner, value, strict=True))
