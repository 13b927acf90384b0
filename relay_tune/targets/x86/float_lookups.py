"""Instructions of x86-64 that look up floats in a register."""

from __future__ import annotations

from relay_tune.machine.architecture import FloatLookup

FLOAT_LOOKUPS = (
    FloatLookup("llvm.x86.avx512.permvar.sf.512", 16, ("avx512f",)),
    FloatLookup("llvm.x86.avx2.permps", 8, ("avx2",)),
)
"""VPERMPS."""
