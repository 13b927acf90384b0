"""Instructions of x86-64 that look up floats and bytes in registers."""

from __future__ import annotations

from relay_tune.machine.architecture import Lookup

LOOKUPS = (
    Lookup("llvm.x86.avx512.permvar.sf.512", "float32", 16, ("avx512f",)),
    Lookup("llvm.x86.avx2.permps", "float32", 8, ("avx2",)),
    Lookup("llvm.x86.avx512.vpermi2var.qi.512", "int8", 64, ("avx512vbmi",), registers=2),
)
"""VPERMPS, and VPERMI2B: the lower seven bits of an index pick a byte of two registers.

VPSHUFB has tables of 16 bytes: 16 of them and as many selections are as long as most functions.
"""
