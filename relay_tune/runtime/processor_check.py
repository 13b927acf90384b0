"""Whether this machine can run code that was made for a target; asked before it is loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache

import llvmlite.binding as llvm

from relay_tune.codegen.processor_features import (
    HARDWARE_BITS,
    HARDWARE_WORDS,
    architecture,
)
from relay_tune.codegen.target import native_target, permitted_features
from relay_tune.errors import InputError


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
    if _machine(native_target().triple) == ("aarch64", "linux"):
        return _hardware_features()
    return permitted_features(llvm.get_host_cpu_features())


def _hardware_features() -> dict[str, bool]:
    """What Linux says of an AArch64 processor."""
    ask = ctypes.CDLL(None).getauxval
    ask.argtypes, ask.restype = (ctypes.c_ulong,), ctypes.c_ulong
    words = [ask(number) for number in HARDWARE_WORDS]
    return {name: bool(words[word] >> bit & 1) for name, (word, bit) in HARDWARE_BITS.items()}


def _machine(triple: str) -> tuple[str, str]:
    return architecture(triple), _system(triple)


def _system(triple: str) -> str:
    """The operating system of a triple, of those that matter here."""
    for system in ("linux", "darwin", "macos", "windows"):
        if system in triple:
            return "darwin" if system == "macos" else system
    return triple
