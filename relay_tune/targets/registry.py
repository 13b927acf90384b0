"""The architectures that there are: our own, and those of installed packages.

A package has a record (`relay_tune.machine.architecture`) as an entry point of the group
`relay_tune.targets`, called as its triples begin:

    [project.entry-points."relay_tune.targets"]
    loongarch64 = "loongarch_target:LOONGARCH64"

It is loaded when a target is named so. A name that we have ourselves stays ours.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from relay_tune.arguments import did_you_mean
from relay_tune.errors import InputError
from relay_tune.machine.architecture import Architecture
from relay_tune.targets.aarch64.record import AARCH64
from relay_tune.targets.riscv64 import RISCV64
from relay_tune.targets.x86.record import X86_64

GROUP = "relay_tune.targets"

BUILT_IN = (AARCH64, RISCV64, X86_64)

SYSTEMS = ("linux", "darwin", "macos", "windows", "freebsd", "netbsd", "openbsd", "android")
"""Operating systems, as parts of triples begin."""

HOW_TO_WRITE = (
    "Write native, or TRIPLE[:CPU[:+feature,...]], "
    "such as x86_64-linux-gnu:haswell or aarch64-linux-gnu:cortex-a72."
)


_LOADED: dict[str, Architecture] = {}
"""Those of installed packages that were asked for."""


def architecture_of(triple: str) -> Architecture:
    """The architecture of a triple; InputError if there is none, or no such system."""
    name, _, rest = triple.partition("-")
    found = next((own for own in BUILT_IN if name in own.names), None) or _foreign(name)
    if found is None:
        raise _unknown(triple, name)
    if not any(part.startswith(SYSTEMS) for part in rest.split("-")):
        raise InputError(
            f"The target {triple!r} is not known: it names no system that there is.",
            notes=(f"There are: {', '.join(SYSTEMS)}.",),
            remedy=did_you_mean(rest.split("-")[0], SYSTEMS, HOW_TO_WRITE),
        )
    return found


def architecture_name(triple: str) -> str:
    """The name of a triple's architecture, whether there is such a one or not."""
    name = triple.partition("-")[0]
    return next((own.name for own in BUILT_IN if name in own.names), name)


def _foreign(name: str) -> Architecture | None:
    """The architecture of an installed package."""
    if name not in _LOADED:
        found = next(iter(entry_points(group=GROUP, name=name)), None)
        if found is None:
            return None
        _LOADED[name] = _loaded(found)
    return _LOADED[name]


def _unknown(triple: str, name: str) -> InputError:
    foreign = sorted(each.name for each in entry_points(group=GROUP))
    known = [*(_described(own) for own in BUILT_IN), *foreign]
    names = [*(name for own in BUILT_IN for name in own.names), *foreign]
    return InputError(
        f"The target {triple!r} is not known: there is no architecture {name!r}.",
        notes=(f"There are: {', '.join(known)}.",),
        remedy=did_you_mean(name, names, HOW_TO_WRITE),
    )


def _described(own: Architecture) -> str:
    return f"{own.name} ({', '.join(own.aliases)})" if own.aliases else own.name


def _loaded(entry: EntryPoint) -> Architecture:
    """The record of an installed package; InputError where there is none."""
    package = "" if entry.dist is None else f" of the package {entry.dist.name}"
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"The target {entry.name}{package} cannot be loaded: {error}.",
            remedy="Update or remove the package.",
        ) from error
    if not isinstance(found, Architecture) or found.name != entry.name:
        raise InputError(
            f"The target {entry.name}{package} is no record of an architecture of this name, but "
            f"{found!r}.",
            remedy="Update or remove the package.",
        )
    return found
