"""Memory that this process needs no longer, and the system does not have back yet."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_MAPPINGS = Path("/proc/self/smaps")
_COMPILER = re.compile(r"/libllvmlite|/libLLVM")
_MAPPING = re.compile(
    r"(?P<begin>[0-9a-f]+)-(?P<end>[0-9a-f]+) (?P<rights>\S+) \S+ \S+ \S+ +(?P<path>/.*)"
)
_MADV_DONTNEED = 4


def give_back_memory() -> None:
    """Have the C library return freed memory to the system, where it can (glibc).

    Once arrays of some megabytes were freed, it keeps such blocks between others that live on.
    """
    if sys.platform != "linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def unmap_compiler_pages() -> None:
    """Let go of the pages of LLVM's library (80 MB after a build), where the system can (Linux).

    They come back from the system's copy of the file if LLVM is wanted again.
    """
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    try:
        lines = _MAPPINGS.read_text().splitlines()
    except OSError:  # a system without /proc
        return
    for begin, end in unchanged_mappings(lines):
        advise(begin, end - begin, _MADV_DONTNEED)


def unchanged_mappings(lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The address ranges in which LLVM's library cannot be written, and never was.

    `lines` are those of Linux's /proc/PID/smaps. A page that was written (relocated addresses, a
    debugger's breakpoints) is not in the file: its mapping is left out.
    """
    found: re.Match[str] | None = None
    for line in lines:
        if "-" in line.partition(" ")[0]:
            found = _MAPPING.fullmatch(line)
        elif line.startswith("Anonymous:") and found is not None:
            is_ours = _COMPILER.search(found["path"]) and found["rights"] in ("r-xp", "r--p")
            if is_ours and line.split()[1] == "0":
                yield int(found["begin"], 16), int(found["end"], 16)
