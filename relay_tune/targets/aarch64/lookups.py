"""Instructions of AArch64 that look up bytes in registers."""

from __future__ import annotations

from relay_tune.machine.architecture import Lookup

LOOKUPS = (
    Lookup(
        instruction="llvm.aarch64.neon.tbl4.v16i8",
        dtype="int8",
        lanes=16,
        features=(),
        registers=4,
        index_place=4,
        is_zero_beyond=True,
    ),
)
"""TBL: an index picks a byte of four registers, or is beyond them."""
