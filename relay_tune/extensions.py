"""Records of installed packages, which they name as entry points of a group."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from relay_tune.errors import InputError

__all__ = ["EntryPoint", "entries", "entry_named", "entry_value", "unusable_entry"]


def entries(group: str) -> list[EntryPoint]:
    """All entry points of a group, by name."""
    return sorted(entry_points(group=group), key=lambda each: each.name)


def entry_named(group: str, name: str) -> EntryPoint | None:
    """The entry point of a group that is called `name`, if there is one."""
    return next(iter(entry_points(group=group, name=name)), None)


def entry_value(entry: EntryPoint, title: str) -> object:
    """Load what an entry point names; InputError where that fails. `title` says what it is."""
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise unusable_entry(entry, title, f"cannot be loaded: {error}") from error


def unusable_entry(entry: EntryPoint, title: str, reason: str) -> InputError:
    """The error of an entry point that names no usable record."""
    package = "" if entry.dist is None else f" of the package {entry.dist.name}"
    return InputError(
        f"The {title} {entry.name}{package} {reason}.", remedy="Update or remove the package."
    )
