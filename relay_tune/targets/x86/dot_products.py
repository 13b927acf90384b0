"""Instructions of x86-64 that add up products of narrow elements."""

from __future__ import annotations

from relay_tune.machine.architecture import DotProduct

DOT_PRODUCTS = (
    DotProduct(
        dtype="bfloat16",
        sum_type="<16 x float>",
        factor_type="<32 x bfloat>",
        instruction="llvm.x86.avx512bf16.dpbf16ps.512",
        steps=2,
        feature="avx512bf16",
        vector_bits=512,
    ),
    # Unsigned by signed bytes, four for each sum.
    DotProduct(
        dtype="int8",
        sum_type="<16 x i32>",
        factor_type="<16 x i32>",
        instruction="llvm.x86.avx512.vpdpbusd.512",
        steps=4,
        feature="avx512vnni",
        vector_bits=512,
    ),
)
