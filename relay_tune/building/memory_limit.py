"""Programs that need more memory than the machine has are refused before anything is allocated."""

from __future__ import annotations

import os
from collections.abc import Iterable

from relay_tune.building.network import Network, Storage
from relay_tune.errors import BuildError
from relay_tune.typing.type_text import type_text

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB")


def physical_memory() -> int | None:
    """The bytes of memory of this machine, where the system tells."""
    if not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check_storages(network: Network) -> None:
    """Raise BuildError if what a step touches is more than the machine's memory.

    Inputs and outputs of the program exist all the time. This is a lower bound, known before
    there is any code; `check_total` has the exact figure.
    """
    always = {*network.inputs.values(), *network.outputs.values()}
    held = sum(storage.size for storage in always)
    check_total(held, always)
    for step in network.steps:
        touched = {network.located(storage).whole for storage in (*step.inputs, *step.outputs)}
        others = touched - always
        check_total(held + sum(storage.size for storage in others), always | others)


def check_total(needed: int, storages: Iterable[Storage]) -> None:
    """Raise BuildError if `needed` bytes, of `storages` above all, are more than there are."""
    available = physical_memory()
    if available is None or needed <= available:
        return
    largest = max(storages, key=lambda storage: storage.size)
    raise BuildError(
        f"The program needs {_amount(needed)} of memory; this machine has {_amount(available)}.",
        notes=(f"Its largest tensor is {type_text(largest.type)}: {_amount(largest.size)}.",),
        remedy="Give the inputs smaller shapes, or use a machine with more memory.",
    )


def _amount(count: int) -> str:
    """Bytes in a unit that gives a short number."""
    power = min(max(len(str(count)) - 1, 0) // 3, len(_UNITS) - 1)
    return f"{count / 1000**power:.3g} {_UNITS[power]}"
