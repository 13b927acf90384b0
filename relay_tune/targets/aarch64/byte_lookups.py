"""Instructions of AArch64 that look up bytes in registers."""

from __future__ import annotations

from relay_tune.machine.architecture import ByteLookup

BYTE_LOOKUPS = (
    ByteLookup(
        instruction="llvm.aarch64.neon.tbl4.v16i8",
        lanes=16,
        registers=4,
        index_place=4,
        is_zero_beyond=True,
        features=(),
    ),
)
"""TBL: an index picks a byte of four registers, or is beyond them."""
