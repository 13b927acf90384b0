"""Instructions of x86-64 that add up products of narrow elements."""

from __future__ import annotations

from relay_tune.machine.architecture import DotProduct
from relay_tune.machine.pattern import (
    BFLOAT16_WORDS,
    BOUNDED_BYTES,
    PAIRS,
    UNSIGNED_BY_SIGNED,
    WordSteps,
)

_FIXED = 'asm "", "=v,0"'
"""No instruction. LLVM 22 adds up the products of several steps before it adds them to a sum: that
is a shorter chain, but takes more registers than there are."""

_WIDE, _HALF = "llvm.x86.avx512.pmaddw.d.512", "llvm.x86.avx2.pmadd.wd"
_QUARTER = "llvm.x86.sse2.pmadd.wd"


def _bytes_in_fours(bits: int, *features: str) -> DotProduct:
    """VPDPBUSD: unsigned by signed bytes, four for each sum."""
    return DotProduct(
        dtype="int8",
        sum_type=f"<{bits // 32} x i32>",
        factor_type=f"<{bits // 8} x i8>",
        instruction=f"llvm.x86.avx512.vpdpbusd.{bits}",
        steps=4,
        features=features,
        vector_bits=bits,
        pattern=UNSIGNED_BY_SIGNED,
        mnemonic="vpdpbusd",
    )


def _bounded_bytes(bits: int, pair_sums: str, pairs: str, *features: str) -> DotProduct:
    """VPMADDUBSW, whose sums of two saturate, VPMADDWD with ones, and an addition.

    It multiplies twice as many elements as VPMADDWD does of int16, in three instructions for two.
    """
    return DotProduct(
        dtype="int8",
        sum_type=f"<{bits // 32} x i32>",
        factor_type=f"<{bits // 8} x i8>",
        instruction=pairs,
        steps=4,
        features=features,
        vector_bits=bits,
        pattern=BOUNDED_BYTES,
        accumulates=False,
        fixed=_FIXED,
        mnemonic="vpmaddubsw",
        in_steps=WordSteps(instructions=3, registers=2),
        pair_sums=pair_sums,
    )


_APART, _JOINED = "vpmaddwd", "vpdpwssd"


def _pairs(bits: int, instruction: str, *features: str, mnemonic: str = _APART) -> DotProduct:
    """VPMADDWD: pairs of int16. LLVM makes VPDPWSSD of it and its addition where there is one."""
    return DotProduct(
        dtype="int16",
        sum_type=f"<{bits // 32} x i32>",
        factor_type=f"<{bits // 16} x i16>",
        instruction=instruction,
        steps=2,
        features=features,
        vector_bits=bits,
        pattern=PAIRS,
        accumulates=False,
        fixed=_FIXED,
        mnemonic=mnemonic,
        in_steps=WordSteps(instructions=2, registers=1) if mnemonic == _APART else None,
    )


_SPLIT_BFLOATS = ("sapphirerapids", "emeraldrapids")
"""Processors that multiply bfloat16 on matrix registers: 88 GOP/s in vectors, of float32 178."""


def _bfloats(bits: int, *features: str) -> DotProduct:
    """VDPBF16PS: pairs of bfloat16, summed in float32; what is subnormal counts as zero."""
    return DotProduct(
        dtype="bfloat16",
        sum_type=f"<{bits // 32} x float>",
        factor_type=f"<{bits // 16} x bfloat>",
        instruction=f"llvm.x86.avx512bf16.dpbf16ps.{bits}",
        steps=2,
        features=("avx512bf16", *features),
        vector_bits=bits,
        pattern=BFLOAT16_WORDS,
        mnemonic="vdpbf16ps",
        slow_cpus=_SPLIT_BFLOATS,
    )


DOT_PRODUCTS = (
    _bfloats(512),
    _bfloats(256, "avx512vl"),
    _bfloats(128, "avx512vl"),
    _bytes_in_fours(512, "avx512vnni"),
    _bytes_in_fours(256, "avx512vnni", "avx512vl"),
    _bytes_in_fours(256, "avxvnni"),
    _bytes_in_fours(128, "avx512vnni", "avx512vl"),
    _bytes_in_fours(128, "avxvnni"),
    _pairs(512, _WIDE, "avx512bw", "avx512vnni", mnemonic=_JOINED),
    _pairs(512, _WIDE, "avx512bw"),
    _pairs(256, _HALF, "avx512vnni", "avx512vl", mnemonic=_JOINED),
    _pairs(256, _HALF, "avxvnni", mnemonic=_JOINED),
    _pairs(256, _HALF, "avx2"),
    _pairs(128, _QUARTER),
    _bounded_bytes(512, "llvm.x86.avx512.pmaddubs.w.512", _WIDE, "avx512bw"),
    _bounded_bytes(256, "llvm.x86.avx2.pmadd.ub.sw", _HALF, "avx2"),
    _bounded_bytes(128, "llvm.x86.ssse3.pmadd.ub.sw.128", _QUARTER, "ssse3"),
)
"""The first that a processor has is used."""
