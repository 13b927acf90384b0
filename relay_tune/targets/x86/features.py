"""The check of an x86-64 processor: it is asked by CPUID, and Linux for permissions.

Features have LLVM's names. Of those that are not known here the check says yes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from relay_tune.machine.architecture import nothing_asked
from relay_tune.machine.permission import Permission

# Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID; AMD64
# Architecture Programmer's Manual, volume 3, appendix E.
BITS = {
    "ssse3": (1, 0, "ecx", 9),
    "fma": (1, 0, "ecx", 12),
    "sse4.1": (1, 0, "ecx", 19),
    "sse4.2": (1, 0, "ecx", 20),
    "movbe": (1, 0, "ecx", 22),
    "popcnt": (1, 0, "ecx", 23),
    "avx": (1, 0, "ecx", 28),
    "f16c": (1, 0, "ecx", 29),
    "bmi": (7, 0, "ebx", 3),
    "avx2": (7, 0, "ebx", 5),
    "bmi2": (7, 0, "ebx", 8),
    "avx512f": (7, 0, "ebx", 16),
    "avx512dq": (7, 0, "ebx", 17),
    "avx512ifma": (7, 0, "ebx", 21),
    "avx512cd": (7, 0, "ebx", 28),
    "avx512bw": (7, 0, "ebx", 30),
    "avx512vl": (7, 0, "ebx", 31),
    "avx512vbmi": (7, 0, "ecx", 1),
    "avx512vbmi2": (7, 0, "ecx", 6),
    "gfni": (7, 0, "ecx", 8),
    "avx512vnni": (7, 0, "ecx", 11),
    "avx512bitalg": (7, 0, "ecx", 12),
    "avx512vpopcntdq": (7, 0, "ecx", 14),
    "amx-bf16": (7, 0, "edx", 22),
    "avx512fp16": (7, 0, "edx", 23),
    "amx-tile": (7, 0, "edx", 24),
    "amx-int8": (7, 0, "edx", 25),
    "avxvnni": (7, 1, "eax", 4),
    "avx512bf16": (7, 1, "eax", 5),
    "amx-fp16": (7, 1, "eax", 21),
    "avxifma": (7, 1, "eax", 23),
    "avxvnniint8": (7, 1, "edx", 4),
    "avxneconvert": (7, 1, "edx", 5),
    "avxvnniint16": (7, 1, "edx", 10),
    "egpr": (7, 1, "edx", 21),
    "lzcnt": (0x80000001, 0, "ecx", 5),
    "sse4a": (0x80000001, 0, "ecx", 6),
    "xop": (0x80000001, 0, "ecx", 11),
    "fma4": (0x80000001, 0, "ecx", 16),
    "tbm": (0x80000001, 0, "ecx", 21),
}
"""Feature: CPUID leaf, subleaf, register, bit."""

_REGISTERS = ("eax", "ebx", "ecx", "edx")
_SAVES_STATE = 27
_AVX_STATE, _AVX512_STATE, _EGPR_STATE = 0x06, 0xE6, 0x80000
_VECTOR_FEATURES = ("avx", "f16c", "fma", "xop")
"""Beginnings of the names of features on the 256-bit registers."""


def check_text(
    name: str, triple: str, features: Collection[str], permissions: Sequence[Permission]
) -> str:
    """The LLVM function `i1 NAME()`: whether the processor has the features.

    Of the permissions, those that cover one of the features are asked for.
    """
    wanted = [BITS[feature] for feature in features if feature in BITS]
    if not wanted:
        return nothing_asked(name, triple, features, permissions)
    asked = [
        permission
        for permission in permissions
        if any(permission.covers(feature) for feature in features)
    ]
    state = _saved_state(features, asked)
    masks: dict[tuple[int, int], dict[str, int]] = {(1, 0): {}}
    if state:
        masks[1, 0]["ecx"] = 1 << _SAVES_STATE
    for leaf, subleaf, register, bit in wanted:
        of_leaf = masks.setdefault((leaf, subleaf), {})
        of_leaf[register] = of_leaf.get(register, 0) | 1 << bit
    return _support_function(name, masks, state, asked if "linux" in triple else [])


def _saved_state(features: Collection[str], asked: Iterable[Permission]) -> int:
    """The bits of what the operating system must save (XCR0); 0 where that goes without saying."""
    state = _AVX_STATE if any(each.startswith(_VECTOR_FEATURES) for each in features) else 0
    if any(each.startswith("avx512") for each in features):
        state |= _AVX512_STATE
    for permission in asked:
        state |= permission.state
    return state | (_EGPR_STATE if "egpr" in features else 0)


def _support_function(
    name: str,
    masks: dict[tuple[int, int], dict[str, int]],
    state: int,
    asked: Sequence[Permission],
) -> str:
    last = "permission0" if asked else "yes"
    deepest = max(leaf for leaf, _ in masks if leaf < 0x80000000)
    lines = [
        "declare void @relay_tune_cpuid(i32, i32, ptr)",
        "declare i32 @relay_tune_saved_state()",
        "declare i64 @syscall(i64, ...)",
        f"define internal i1 @{name}() nounwind {{",
        "entry:",
        "  %answer = alloca [4 x i32], align 16",
        "  call void @relay_tune_cpuid(i32 0, i32 0, ptr %answer)",
        "  %deepest = load i32, ptr %answer, align 4",
        f"  %deep = icmp uge i32 %deepest, {deepest}",
        "  br i1 %deep, label %leaf0, label %no",
    ]
    for number, ((leaf, subleaf), registers) in enumerate(sorted(masks.items())):
        following = f"leaf{number + 1}" if number + 1 < len(masks) else last
        lines += [
            f"leaf{number}:",
            f"  call void @relay_tune_cpuid(i32 {leaf}, i32 {subleaf}, ptr %answer)",
        ]
        if number or not state:
            lines += _check_registers(f"l{number}", registers, following)
            continue
        lines += _check_registers("l0", registers, "state")
        lines += _check_state(state, following)
    for number, permission in enumerate(asked):
        following = f"permission{number + 1}" if number + 1 < len(asked) else "yes"
        lines += _ask_permission(permission, number, following)
    lines += ["yes:", "  ret i1 true", "no:", "  ret i1 false", "}"]
    return "\n".join(lines) + "\n"


def _check_registers(prefix: str, registers: dict[str, int], following: str) -> list[str]:
    """Go on to `following` if all bits of the masks are set, else to `no`."""
    lines: list[str] = []
    all_set = "true"
    for register, mask in registers.items():
        name = f"%{prefix}_{register}"
        index = _REGISTERS.index(register)
        lines += [
            f"  {name}_at = getelementptr i32, ptr %answer, i64 {index}",
            f"  {name} = load i32, ptr {name}_at, align 4",
            f"  {name}_bits = and i32 {name}, {mask}",
            f"  {name}_set = icmp eq i32 {name}_bits, {mask}",
            f"  {name}_all = and i1 {name}_set, {all_set}",
        ]
        all_set = f"{name}_all"
    return [*lines, f"  br i1 {all_set}, label %{following}, label %no"]


def _check_state(state: int, following: str) -> list[str]:
    """The operating system must save the vector registers."""
    return [
        "state:",
        "  %low = call i32 @relay_tune_saved_state()",
        f"  %saved = and i32 %low, {state}",
        f"  %saves = icmp eq i32 %saved, {state}",
        f"  br i1 %saves, label %{following}, label %no",
    ]


def _ask_permission(permission: Permission, number: int, following: str) -> list[str]:
    """Linux saves some registers only for processes that asked for them."""
    return [
        f"permission{number}:",
        f"  %status{number} = call i64 (i64, ...) @syscall({permission.operands})",
        f"  %granted{number} = icmp eq i64 %status{number}, 0",
        f"  br i1 %granted{number}, label %{following}, label %no",
    ]
