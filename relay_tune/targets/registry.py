"""The architectures that there are: our own, and those of installed packages.

A package has a record (`relay_tune.machine.architecture`) as an entry point of the group
`relay_tune.targets`, called as its triples begin:

    [project.entry-points."relay_tune.targets"]
    loongarch64 = "loongarch_target:LOONGARCH64"

It is loaded when a target is named so. A name that we have ourselves stays ours.

An instruction on tiles (`relay_tune.machine.intrinsic`) or on words
(`relay_tune.machine.architecture.DotProduct`) for an architecture that there is, is an entry point
of the group `relay_tune.intrinsics`, called as the architecture and then as one likes:

    [project.entry-points."relay_tune.intrinsics"]
    "x86_64.bytes" = "bytes_on_tiles:PRODUCTS_OF_BYTES"
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from relay_tune.arguments import did_you_mean
from relay_tune.errors import InputError
from relay_tune.extensions import EntryPoint, entries, entry_named, entry_value, unusable_entry
from relay_tune.machine.architecture import Architecture, DotProduct
from relay_tune.machine.intrinsic import Intrinsic
from relay_tune.targets.aarch64.record import AARCH64
from relay_tune.targets.riscv64 import RISCV64
from relay_tune.targets.x86.record import X86_64

GROUP = "relay_tune.targets"
INTRINSICS_GROUP = "relay_tune.intrinsics"

BUILT_IN = (AARCH64, RISCV64, X86_64)

SYSTEMS = ("linux", "darwin", "macos", "windows", "freebsd", "netbsd", "openbsd", "android")
"""Operating systems, as parts of triples begin."""

HOW_TO_WRITE = (
    "Write native, or TRIPLE[:CPU[:+feature,...]], "
    "such as x86_64-linux-gnu:haswell or aarch64-linux-gnu:cortex-a72."
)


_LOADED: dict[str, Architecture] = {}
"""Those of installed packages that were asked for."""

_EXTENDED: dict[str, Architecture] = {}
"""By name, with the intrinsics of installed packages."""


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
    return _extended(found)


def intrinsic_named(key: str) -> Intrinsic | None:
    """The intrinsic of some architecture with a key; None if there is none."""
    known = (each for own in (*BUILT_IN, *_LOADED.values()) for each in _extended(own).intrinsics)
    return next((each for each in known if each.key == key), None)


def architecture_name(triple: str) -> str:
    """The name of a triple's architecture, whether there is such a one or not."""
    name = triple.partition("-")[0]
    return next((own.name for own in BUILT_IN if name in own.names), name)


def _foreign(name: str) -> Architecture | None:
    """The architecture of an installed package."""
    if name not in _LOADED:
        found = entry_named(GROUP, name)
        if found is None:
            return None
        _LOADED[name] = _loaded(found)
    return _LOADED[name]


def _unknown(triple: str, name: str) -> InputError:
    foreign = [each.name for each in entries(GROUP)]
    known = [*(_described(own) for own in BUILT_IN), *foreign]
    names = [*(name for own in BUILT_IN for name in own.names), *foreign]
    return InputError(
        f"The target {triple!r} is not known: there is no architecture {name!r}.",
        notes=(f"There are: {', '.join(known)}.",),
        remedy=did_you_mean(name, names, HOW_TO_WRITE),
    )


def _described(own: Architecture) -> str:
    return f"{own.name} ({', '.join(own.aliases)})" if own.aliases else own.name


def _extended(own: Architecture) -> Architecture:
    """The architecture with the intrinsics of installed packages after its own."""
    if own.name not in _EXTENDED:
        found = entries(INTRINSICS_GROUP)
        mine = [each for each in found if each.name.partition(".")[0] == own.name]
        tiles, dots = list(own.intrinsics), list(own.dot_products)
        for entry in mine:
            match _loaded_instruction(entry, {each.key for each in tiles}):
                case Intrinsic() as tile:
                    tiles.append(tile)
                case dot:
                    dots.append(dot)
        changed = replace(own, intrinsics=tuple(tiles), dot_products=tuple(dots))
        _EXTENDED[own.name] = changed if mine else own
    return _EXTENDED[own.name]


def _loaded_instruction(entry: EntryPoint, taken: Collection[str]) -> Intrinsic | DotProduct:
    """The record of an installed package; InputError where it is none, or its key is taken."""
    found = entry_value(entry, "intrinsic")
    if not isinstance(found, Intrinsic | DotProduct):
        raise unusable_entry(entry, "intrinsic", f"is no record of an instruction, but {found!r}")
    if isinstance(found, Intrinsic) and found.key in taken:
        raise unusable_entry(entry, "intrinsic", f"has the key {found.key!r}, which is taken")
    return found


def _loaded(entry: EntryPoint) -> Architecture:
    """The record of an installed package; InputError where there is none."""
    found = entry_value(entry, "target")
    if not isinstance(found, Architecture) or found.name != entry.name:
        reason = f"is no record of an architecture of this name, but {found!r}"
        raise unusable_entry(entry, "target", reason)
    return found
