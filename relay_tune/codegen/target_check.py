"""Asking LLVM whether it knows a processor and its features.

LLVM takes any name: it says on the standard error stream that it ignores one which it does not
know, and makes code for the oldest processor of the architecture.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache

import llvmlite.binding as llvm

UNKNOWN = " is not a recognized "


@cache
def unknown_parts(triple: str, cpu: str, features: str) -> tuple[str, ...]:
    """The processor and the features, in quotes, that LLVM does not know for a triple.

    Raises RuntimeError for an unknown triple. The stream belongs to the whole process; what others
    write to it meanwhile is written there afterwards.
    """
    target = llvm.Target.from_triple(triple)
    if sys.stderr is not None:
        sys.stderr.flush()
    stream = os.dup(2)
    with tempfile.TemporaryFile() as messages:
        os.dup2(messages.fileno(), 2)
        try:
            target.create_target_machine(cpu=cpu, features=features)
        finally:
            os.dup2(stream, 2)
        messages.seek(0)
        lines = messages.read().decode(errors="replace").splitlines(keepends=True)
    os.write(stream, "".join(line for line in lines if UNKNOWN not in line).encode())
    os.close(stream)
    return tuple(dict.fromkeys(line.split(UNKNOWN)[0] for line in lines if UNKNOWN in line))
