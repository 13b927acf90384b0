"""The options of passes as text: `fuse{maximum_group_size=8}`, `fold_constants{keep=[zeros]}`.

An option is a field of the dataclass that the pass is. Whole numbers, numbers, `true` and `false`,
words and lists of words have a text; what else a pass may hold, such as a machine, comes from what
it is built for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, get_type_hints

from relay_tune.arguments import did_you_mean
from relay_tune.errors import InputError

OptionText = str | tuple[str, ...]
"""A value as it was written: a word, or the words of a list."""

WORDS = frozenset[str]
"""The type of options that are lists."""


def field_names(kind: object) -> list[str]:
    """What a dataclass takes by name; nothing for any other class."""
    return [each.name for each in fields(kind) if each.init] if is_dataclass(kind) else []


def options_of(kind: object) -> dict[str, object]:
    """The types of the options of a dataclass that have a text, by name."""
    hints = get_type_hints(kind)
    return {name: hints[name] for name in field_names(kind) if _has_text(hints[name])}


def read_options(what: str, kind: object, given: Mapping[str, OptionText]) -> dict[str, Any]:
    """The values of options by name; `what` they belong to is a part of the message.

    Raises InputError where there is no such option, or a text is no value of its type.
    """
    types = options_of(kind)
    for name in given:
        if name not in types:
            raise _unknown(what, name, kind)
    return {name: _value(what, name, types[name], text) for name, text in given.items()}


def described_options(kind: object) -> str:
    """The options of a dataclass with what each needs: `size (a whole number)`."""
    return ", ".join(f"{name} ({_needed(type_)})" for name, type_ in options_of(kind).items())


def written(name: str, value: object) -> str:
    """A dataclass with those of its options that are no defaults: `fuse{maximum_group_size=8}`."""
    kind = type(value)
    usual = {each.name: each.default for each in fields(kind)} if is_dataclass(kind) else {}
    found = {option: getattr(value, option) for option in options_of(kind)}
    texts = [f"{o}={_text(v)}" for o, v in found.items() if v != usual[o]]
    return f"{name}{{{','.join(texts)}}}" if texts else name


def _has_text(type_: object) -> bool:
    return type_ in (bool, int, float, str, WORDS) or _is_enumeration(type_)


def _is_enumeration(type_: object) -> bool:
    return isinstance(type_, type) and issubclass(type_, Enum)


def _text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case frozenset():
            return f"[{','.join(sorted(map(str, value)))}]"
        case Enum():
            return str(value.value)
        case _:
            return str(value)


def _value(what: str, name: str, type_: object, text: OptionText) -> object:
    try:
        return _converted(type_, text)
    except ValueError:
        shown = text if isinstance(text, str) else f"[{','.join(text)}]"
        raise InputError(
            f"The option {name} of {what} is {shown!r}, but must be {_needed(type_)}.",
            remedy=f"Write {name}={_example(type_)}, for example.",
        ) from None


def _converted(type_: object, text: OptionText) -> object:
    """The value that a text is; ValueError where it is none of this type."""
    if type_ == WORDS:
        return frozenset((text,) if isinstance(text, str) else text)
    if not isinstance(text, str):
        raise ValueError(text)
    if type_ is bool and text in ("true", "false"):
        return text == "true"
    if type_ is int and text.isdecimal():
        return int(text)
    if type_ is float:
        return float(text)
    if type_ is str:
        return text
    if isinstance(type_, type) and issubclass(type_, Enum):
        return type_(text)
    raise ValueError(text)


def _needed(type_: object) -> str:
    if isinstance(type_, type) and issubclass(type_, Enum):
        return _alternatives(str(each.value) for each in type_)
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}
    return names[type_] if isinstance(type_, type) and type_ in names else "a list such as [a,b]"


def _example(type_: object) -> str:
    if isinstance(type_, type) and issubclass(type_, Enum):
        return str(next(iter(type_)).value)
    examples = {bool: "true", int: "8", float: "0.5", str: "main"}
    return examples[type_] if isinstance(type_, type) and type_ in examples else "[a,b]"


def _alternatives(texts: Iterable[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} or {last}" if most else last


def _unknown(what: str, name: str, kind: object) -> InputError:
    known, begun = described_options(kind), what[0].upper() + what[1:]
    if not known:
        return InputError(f"{begun} has no options.", remedy=f"Omit {{{name}=..}}.")
    return InputError(
        f"{begun} has no option {name!r}.",
        notes=(f"Its options are: {known}.",),
        remedy=did_you_mean(name, options_of(kind), "Choose one of these options."),
    )
