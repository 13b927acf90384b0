"""Instructions of AArch64 that add up products of bytes and of bfloat16."""

from __future__ import annotations

from relay_tune.machine.architecture import DotProduct
from relay_tune.machine.pattern import (
    BFLOAT16_WORDS,
    SIGNED_BYTES,
    UNSIGNED_BY_SIGNED,
    UNSIGNED_BYTES,
    WordPattern,
)


def _of_neon(name: str, feature: str, pattern: WordPattern) -> DotProduct:
    """SDOT, UDOT, USDOT: bytes, four for each sum."""
    return DotProduct(
        dtype="int8",
        sum_type="<4 x i32>",
        factor_type="<16 x i8>",
        instruction=f"llvm.aarch64.neon.{name}.v4i32.v16i8",
        steps=4,
        features=(feature,),
        vector_bits=128,
        pattern=pattern,
        mnemonic=name,
    )


DOT_PRODUCTS = (
    _of_neon("sdot", "dotprod", SIGNED_BYTES),
    _of_neon("udot", "dotprod", UNSIGNED_BYTES),
    _of_neon("usdot", "i8mm", UNSIGNED_BY_SIGNED),
    DotProduct(
        dtype="bfloat16",
        sum_type="<4 x float>",
        factor_type="<8 x bfloat>",
        instruction="llvm.aarch64.neon.bfdot.v4f32.v8bf16",
        steps=2,
        features=("bf16",),
        vector_bits=128,
        pattern=BFLOAT16_WORDS,
    ),
)
