"""Checks of what users give: one InputError says what is needed and found, and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from reprlib import repr
from typing import TypeVar

from relay_tune.errors import InputError

Kind = TypeVar("Kind")

OTHER_FOLDER = "Name a file in a folder that exists and can be written."


def instance_of(kind: type[Kind], value: object, what: str, remedy: str) -> Kind:
    """`value`, which must be of a class."""
    if isinstance(value, kind):
        return value
    raise wrong_type(what, f"a {kind.__name__}", value, remedy)


def path_argument(value: object, what: str, remedy: str) -> Path:
    """The path of a file: a text or a `Path`, neither empty nor with a zero in it."""
    text = fspath(value) if isinstance(value, str | PathLike) else None
    if not isinstance(text, str):
        raise wrong_type(what, "a path", value, remedy)
    if not text or "\0" in text:
        raise InputError(f"{what} is {text!r}, which no file can be called.", remedy=remedy)
    return Path(text)


def require_regular(path: Path, what: str = "The file") -> None:
    """Raise InputError where a file is a pipe or a device: to read one may never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(
            f"{what} {path} cannot be read: it is no regular file.",
            remedy="Copy what it gives to a file, and name that.",
        )


def whole_number(value: object, what: str, least: int) -> int:
    """A whole number, Python's or numpy's, of at least `least`."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least:
        return int(value)
    raise InputError(
        f"{what} is {repr(value)}, but must be a whole number of at least {least}.",
        remedy=f"Give such a number, for example {max(least, 1)}.",
    )


def function_argument(
    value: Kind, what: str, remedy: str = "Omit it, or give a function such as print."
) -> Kind:
    """Something that can be called."""
    if callable(value):
        return value
    raise wrong_type(what, "a function", value, remedy)


def by_name(value: object, what: str, example: str) -> Mapping[str, object]:
    """A mapping from names."""
    if isinstance(value, Mapping):
        return value
    raise wrong_type(what, "a dict from names", value, f"Write it like {example}.")


def wrong_type(what: str, needed: str, value: object, remedy: str) -> InputError:
    """The error for a value of another type than is needed."""
    found = f"a value of type {type(value).__name__} was given"
    return InputError(f"{what} must be {needed}, but {found}.", remedy=remedy)


def unwritable(path: Path, error: OSError) -> InputError:
    """The error for a file that the system does not write."""
    remedy = OTHER_FOLDER
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "Free some disk space, or name a file on another disk."
    return InputError(f"{path} cannot be written: {error.strerror or error}.", remedy=remedy)


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """The remedy for a name that is not known: the nearest ones that are, or else `otherwise`."""
    close = get_close_matches(name, list(known), n=3, cutoff=0.7)
    return f"Did you mean {' or '.join(close)}?" if close else otherwise
