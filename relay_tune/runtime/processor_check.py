"""Whether this machine can run code that was made for a target; asked before it is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import llvmlite.binding as llvm

from relay_tune.codegen.target import native_target, permitted_features
from relay_tune.errors import InputError
from relay_tune.targets.registry import architecture_name, architecture_of


def check_features(triple: str, features: Iterable[str], name: str) -> None:
    """Raise InputError unless this machine has a triple's architecture and the features."""
    here = native_target()
    if _machine(triple) != _machine(here.triple):
        raise InputError(
            f"The program is made for {name}; this machine is {here.triple}.",
            remedy="Run it there, or build it again for this machine.",
        )
    missing = [feature for feature in features if not _host_features().get(feature, False)]
    if missing:
        raise InputError(
            f"The program is made for {name}, but this machine lacks {', '.join(missing)}.",
            remedy="Build it with a target that fits this machine.",
        )


@cache
def _host_features() -> dict[str, bool]:
    ask = architecture_of(native_target().triple).host_features
    if ask is not None and _system(native_target().triple) == "linux":
        return ask()
    return permitted_features(llvm.get_host_cpu_features())


def _machine(triple: str) -> tuple[str, str]:
    return architecture_name(triple), _system(triple)


def _system(triple: str) -> str:
    """The operating system of a triple, of those that matter here."""
    for system in ("linux", "darwin", "macos", "windows"):
        if system in triple:
            return "darwin" if system == "macos" else system
    return triple
