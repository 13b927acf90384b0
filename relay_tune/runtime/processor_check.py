"""Whether this machine can run code that was made for a target; asked before it is loaded."""

from __future__ import annotations

from functools import cache
from itertools import chain

import llvmlite.binding as llvm

from relay_tune.codegen.target import Target, native_target
from relay_tune.errors import InputError

LEVELS = {
    256: ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt"),
    512: ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""What processors with vectors of so many bits have (levels v3 and v4 of the x86-64 psABI)."""


def required_features(target: Target) -> tuple[str, ...]:
    """The processor features that code for a target may use, by LLVM's names."""
    named = [name[1:] for name in target.features.split(",") if name.startswith("+")]
    if target == native_target() or _architecture(target.triple) != "x86_64":
        return tuple(sorted(named))
    levels = [names for bits, names in LEVELS.items() if bits <= target.vector_bits]
    return tuple(sorted({*named, *chain(*levels)}))


def check_processor(target: Target) -> None:
    """Raise InputError unless this machine can run code for `target`."""
    check_features(target.triple, required_features(target), str(target))


def check_features(triple: str, features: tuple[str, ...], name: str) -> None:
    """Raise InputError unless this machine has an architecture and features."""
    here = native_target()
    if _machine(triple) != _machine(here.triple):
        raise InputError(
            f"The program is made for {name}; this machine is {here.triple}.",
            remedy="Run it there, or build it again for this machine.",
        )
    missing = [feature for feature in features if not _host_features().get(feature, False)]
    if missing:
        raise InputError(
            f"The program is made for {name}, but this processor lacks {', '.join(missing)}.",
            remedy="Build it with a target that fits this machine.",
        )


@cache
def _host_features() -> dict[str, bool]:
    return dict(llvm.get_host_cpu_features())


def _machine(triple: str) -> tuple[str, str]:
    return _architecture(triple), _system(triple)


def _architecture(triple: str) -> str:
    first = triple.split("-")[0]
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(first, first)


def _system(triple: str) -> str:
    """The operating system of a triple, of those that matter here."""
    for system in ("linux", "darwin", "macos", "windows"):
        if system in triple:
            return "darwin" if system == "macos" else system
    return triple
