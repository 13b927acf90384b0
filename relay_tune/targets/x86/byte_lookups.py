"""Instructions of x86-64 that look up bytes in registers."""

from __future__ import annotations

from relay_tune.machine.architecture import ByteLookup

BYTE_LOOKUPS = (
    ByteLookup(
        instruction="llvm.x86.avx512.vpermi2var.qi.512",
        lanes=64,
        registers=2,
        index_place=1,
        is_zero_beyond=False,
        features=("avx512vbmi",),
    ),
)
"""VPERMI2B: the lower seven bits of an index pick a byte of two registers.

VPSHUFB has tables of 16 bytes: 16 of them and as many selections are as long as most functions.
"""
