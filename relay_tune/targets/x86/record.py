"""x86-64."""

from __future__ import annotations

from relay_tune.machine.architecture import Architecture, Streaming
from relay_tune.targets.x86.dot_products import DOT_PRODUCTS
from relay_tune.targets.x86.features import BITS, check_text
from relay_tune.targets.x86.intrinsics import INTRINSICS
from relay_tune.targets.x86.linking import LINKING
from relay_tune.targets.x86.lookups import LOOKUPS
from relay_tune.targets.x86.processors import CPUS_OF_32_BITS, vectors_of
from relay_tune.targets.x86.stack_switch import STACK_SWITCH
from relay_tune.targets.x86.subnormals import SUBNORMALS

STREAMING = Streaming(
    declaration="declare void @llvm.x86.sse.sfence()",
    fence="call void @llvm.x86.sse.sfence()",
    bytes=32 << 20,
)
"""Measured on a core with 32 MB of third cache, and on one with a share of 480 MB: below 32 MB
stores that stay in the caches may be as fast or faster, at 64 MB they never were."""

X86_64 = Architecture(
    name="x86_64",
    aliases=("amd64",),
    vectors=vectors_of,
    impossible_cpus=CPUS_OF_32_BITS,
    plain_cpu="x86-64",
    intrinsics=INTRINSICS,
    dot_products=DOT_PRODUCTS,
    lookups=LOOKUPS,
    features=tuple(BITS),
    check=check_text,
    pause=("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    level_of_calls=0,
    reduces_strength=False,
    streaming=STREAMING,
    subnormals=SUBNORMALS,
    stack_switch=STACK_SWITCH,
    linking=LINKING,
)
"""All processors with its instructions."""
