"""Instructions of AArch64 that add up products of bytes, four for each sum."""

from __future__ import annotations

from relay_tune.machine.architecture import DotProduct
from relay_tune.machine.pattern import (
    SIGNED_BYTES,
    UNSIGNED_BY_SIGNED,
    UNSIGNED_BYTES,
    WordPattern,
)


def _of_neon(name: str, feature: str, pattern: WordPattern) -> DotProduct:
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
)
