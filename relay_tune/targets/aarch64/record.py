"""AArch64."""

from __future__ import annotations

from relay_tune.machine.architecture import Architecture, Vectors
from relay_tune.targets.aarch64.dot_products import DOT_PRODUCTS
from relay_tune.targets.aarch64.features import HARDWARE_BITS, check_text, host_features
from relay_tune.targets.aarch64.linking import LINKING
from relay_tune.targets.aarch64.lookups import LOOKUPS
from relay_tune.targets.aarch64.stack_switch import STACK_SWITCH

NEON = Vectors(128, 32)

AARCH64 = Architecture(
    name="aarch64",
    aliases=("arm64",),
    vectors=lambda _cpu, _features: NEON,
    dot_products=DOT_PRODUCTS,
    lookups=LOOKUPS,
    features=tuple(HARDWARE_BITS),
    check=check_text,
    host_features=host_features,
    pause=("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
    stack_switch=STACK_SWITCH,
    linking=LINKING,
)
"""All processors with its instructions; SVE is not used."""
