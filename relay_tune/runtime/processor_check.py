"""Whether this machine can run code that was made for a target; asked before it is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import chain

import llvmlite.binding as llvm

from relay_tune.codegen.processor_features import required_features
from relay_tune.codegen.target import Target, native_target, permitted_features
from relay_tune.errors import InputError
from relay_tune.targets.registry import architecture_name, architecture_of


def check_features(triple: str, features: Iterable[str], name: str) -> None:
    """Raise InputError unless this machine has a triple's architecture and the features."""
    if not _is_this_kind(triple):
        raise InputError(
            f"The program is made for {name}; this machine is {native_target().triple}.",
            remedy="Run it there, or build it again for this machine.",
        )
    if missing := _missing(features):
        raise InputError(
            f"The program is made for {name}, but this machine lacks {', '.join(missing)}.",
            remedy="Build it with a target that fits this machine.",
        )


def check_measurable(target: Target) -> None:
    """Raise InputError unless kernels for a target, whatever it may use, run on this machine."""
    if not _is_this_kind(target.triple):
        here = f"is {native_target()}"
    elif missing := _missing(_all_features(target)):
        here = f"lacks {', '.join(missing)}"
    else:
        return
    raise InputError(
        f"Kernels for {target} cannot be measured on this machine, which {here}.",
        remedy="Run tune on the target machine, and bring its log here.",
    )


def _all_features(target: Target) -> list[str]:
    """The features that some kernel for a target may use."""
    of_tiles = (each.requirement.features for each in target.intrinsics)
    return sorted({*required_features(target, ()), *chain.from_iterable(of_tiles)})


def _missing(features: Iterable[str]) -> list[str]:
    return [feature for feature in features if not _host_features().get(feature, False)]


@cache
def _host_features() -> dict[str, bool]:
    ask = architecture_of(native_target().triple).host_features
    if ask is not None and _system(native_target().triple) == "linux":
        return ask()
    return permitted_features(llvm.get_host_cpu_features())


def _is_this_kind(triple: str) -> bool:
    """Whether this machine has a triple's architecture and operating system."""
    own = native_target().triple
    same = architecture_name(triple) == architecture_name(own)
    return same and _system(triple) == _system(own)


def _system(triple: str) -> str:
    """The operating system of a triple, of those that matter here."""
    for system in ("linux", "darwin", "macos", "windows"):
        if system in triple:
            return "darwin" if system == "macos" else system
    return triple
