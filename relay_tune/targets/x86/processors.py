"""The vector registers of x86-64 processors, by LLVM's names of them and of their features."""

from __future__ import annotations

from relay_tune.machine.architecture import Vectors

NARROW_CPUS = tuple(
    """
    haswell broadwell skylake x86-64-v3 core-avx2 core_4th core_5th alderlake raptorlake meteorlake
    arrowlake lunarlake pantherlake gracemont sierraforest grandridge clearwaterforest znver
    """.split()
)
"""Beginnings of the names of processors with vectors of 256 bits (AVX2)."""

BFLOAT16_CPUS = (
    "cooperlake",
    "sapphirerapids",
    "emeraldrapids",
    "graniterapids",
    "diamondrapids",
    "znver4",
    "znver5",
)
"""The same of those that round vectors to bfloat16 (AVX-512BF16)."""

WIDE_CPUS = (
    *"skylake-avx512 cascadelake cannonlake icelake rocketlake tigerlake x86-64-v4".split(),
    *BFLOAT16_CPUS,
)
"""The same of those with vectors of 512 bits (AVX-512 with VL and DQ)."""

CPUS_OF_32_BITS = frozenset(
    """
    i386 i486 i586 i686 pentium pentium-mmx pentiumpro pentium2 pentium3 pentium3m pentium-m
    pentium4 pentium4m yonah prescott lakemont k6 k6-2 k6-3 athlon athlon-tbird athlon-xp
    athlon-mp athlon-4 geode winchip-c6 winchip2 c3 c3-2
    """.split()
)
"""Names that LLVM knows, and for which it ends the process when 64-bit code is wanted."""

_OF_WIDE = frozenset(("avx512f", "avx512vl", "avx512dq", "avx2"))


def vectors_of(cpu: str, features: str) -> Vectors:
    """The vector registers of a processor with features."""
    given = features.split(",")
    chosen = {name[1:] for name in given if name.startswith("+")}
    refused = {name[1:] for name in given if name.startswith("-")}
    if "avx2" in refused:  # all that came later needs it
        return Vectors(128, 16)
    if cpu.startswith(WIDE_CPUS) and "avx512f" not in refused:
        chosen |= _OF_WIDE
        chosen |= {"avx512bf16"} if cpu.startswith(BFLOAT16_CPUS) else set()
    elif cpu.startswith((*NARROW_CPUS, *WIDE_CPUS)):
        chosen.add("avx2")
    chosen -= refused
    if {"avx512f", "avx512vl"} <= chosen:
        return Vectors(512, 32, "avx512dq" in chosen, "avx512bf16" in chosen)
    return Vectors(256 if "avx2" in chosen else 128, 16)
