"""The check of an AArch64 processor: Linux tells of its features.

Features have LLVM's names. Of those that are not known here, and on other systems, it says yes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Sequence

from relay_tune.machine.architecture import nothing_asked
from relay_tune.machine.permission import Permission

HARDWARE_WORDS = (16, 26)
"""AT_HWCAP and AT_HWCAP2: the numbers by which Linux tells of a processor's features."""

# Linux, arch/arm64/include/uapi/asm/hwcap.h.
HARDWARE_BITS = {
    "lse": (0, 8),
    "fullfp16": (0, 10),
    "rdm": (0, 12),
    "complxnum": (0, 14),
    "rcpc": (0, 15),
    "sha3": (0, 17),
    "dotprod": (0, 20),
    "sve": (0, 22),
    "fp16fml": (0, 23),
    "rcpc-immo": (0, 26),
    "flagm": (0, 27),
    "sve2": (1, 1),
    "fptoint": (1, 8),
    "i8mm": (1, 13),
    "bf16": (1, 14),
    "cssc": (1, 34),
    "mops": (1, 43),
    "hbc": (1, 44),
    "rcpc3": (1, 47),
    "faminmax": (1, 50),
}
"""Feature of AArch64: the word of `HARDWARE_WORDS`, and the bit."""


def check_text(
    name: str, triple: str, features: Collection[str], permissions: Sequence[Permission]
) -> str:
    """The LLVM function `i1 NAME()`: whether the processor has the features."""
    if "linux" not in triple:
        return nothing_asked(name, triple, features, permissions)
    masks = [0, 0]
    for feature in features:
        if feature in HARDWARE_BITS:
            word, bit = HARDWARE_BITS[feature]
            masks[word] |= 1 << bit
    lines = ["declare i64 @getauxval(i64)", f"define internal i1 @{name}() nounwind {{"]
    for number, (word, mask) in enumerate(zip(HARDWARE_WORDS, masks, strict=True)):
        lines += [
            f"  %word{number} = call i64 @getauxval(i64 {word})",
            f"  %bits{number} = and i64 %word{number}, {mask}",
            f"  %has{number} = icmp eq i64 %bits{number}, {mask}",
        ]
    return "\n".join([*lines, "  %all = and i1 %has0, %has1", "  ret i1 %all", "}", ""])


def host_features() -> dict[str, bool]:
    """What Linux says of the processor that this process runs on."""
    ask = ctypes.CDLL(None).getauxval
    ask.argtypes, ask.restype = (ctypes.c_ulong,), ctypes.c_ulong
    words = [ask(number) for number in HARDWARE_WORDS]
    return {name: bool(words[word] >> bit & 1) for name, (word, bit) in HARDWARE_BITS.items()}
