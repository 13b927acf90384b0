"""Programs that need more memory than the machine has are refused before anything is allocated."""

from __future__ import annotations

import os

from relay_tune.errors import BuildError
from relay_tune.first_order.region import Region
from relay_tune.typing.type_text import type_text

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB")


def physical_memory() -> int | None:
    """The bytes of memory of this machine, where the system tells."""
    if not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check_buffers(region: Region) -> None:
    """Raise BuildError if what a kernel touches is more than the machine's memory.

    Inputs and outputs of the program exist all the time. This is a lower bound, known before
    there is any code; `check_total` has the exact figure.
    """
    always = {*region.inputs, *region.outputs}
    most = 0
    for run in region.runs:
        touched = {region.located(buffer).whole for buffer in (*run.inputs, *run.outputs)}
        most = max(most, sum(buffer.size for buffer in touched - always))
    check_total(most, region)


def check_total(others: int, region: Region) -> None:
    """Raise BuildError if inputs, outputs and `others` bytes are more than there are."""
    always = {*region.inputs, *region.outputs}
    needed = others + sum(buffer.size for buffer in always)
    available = physical_memory()
    if available is None or needed <= available:
        return
    computed = (buffer for run in region.runs for buffer in run.outputs)
    largest = max((*always, *computed), key=lambda buffer: buffer.size)
    raise BuildError(
        f"The program needs {_amount(needed)} of memory; this machine has {_amount(available)}.",
        notes=(f"Its largest tensor is {type_text(largest.type)}: {_amount(largest.size)}.",),
        remedy="Give the inputs smaller shapes, or use a machine with more memory.",
    )


def _amount(count: int) -> str:
    """Bytes in a unit that gives a short number."""
    power = min(max(len(str(count)) - 1, 0) // 3, len(_UNITS) - 1)
    return f"{count / 1000**power:.3g} {_UNITS[power]}"
