"""What code for a target asks of the processor, and a native function that looks for it.

Features have LLVM's names. The function runs before any generated code, so that a library on a
machine which it was not made for gives an error code, not an illegal instruction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from relay_tune.codegen.matrix_permission import ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA
from relay_tune.codegen.target import MATRIX_FEATURES, MATRIX_PREFIX, Target, native_target

LEVELS = {
    256: ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt"),
    512: ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""What processors with vectors of so many bits have (levels v3 and v4 of the x86-64 psABI)."""

# Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID.
_BITS = {
    "fma": (1, 0, "ecx", 12),
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
    "amx-tile": (7, 0, "edx", 24),
    "amx-int8": (7, 0, "edx", 25),
    "avxvnni": (7, 1, "eax", 4),
    "avx512bf16": (7, 1, "eax", 5),
    "lzcnt": (0x80000001, 0, "ecx", 5),
}
"""Feature: CPUID leaf, subleaf, register, bit."""

_REGISTERS = ("eax", "ebx", "ecx", "edx")
_SAVES_STATE = 27
_AVX_STATE, _AVX512_STATE, _MATRIX_STATE = 0x06, 0xE6, 0x60000

_MATRIX_INSTRUCTION = "@llvm.x86.ldtilecfg"
"""What code that uses matrix registers cannot do without."""


def architecture(triple: str) -> str:
    """The processor family of a target triple."""
    first = triple.split("-")[0]
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(first, first)


def required_features(target: Target, texts: Iterable[str]) -> tuple[str, ...]:
    """The features that kernels for a target, modules of LLVM IR, may use.

    Those of matrix registers are required only if a text has such instructions: LLVM makes no other
    code into them.
    """
    named = {name[1:] for name in target.features.split(",") if name.startswith("+")}
    found = {name for name in named if not name.startswith(MATRIX_PREFIX)}
    if target != native_target() and architecture(target.triple) == "x86_64":
        found.update(*(names for bits, names in LEVELS.items() if bits <= target.vector_bits))
    if uses_matrix_registers(texts):
        found.update(MATRIX_FEATURES)
    return tuple(sorted(found))


def uses_matrix_registers(texts: Iterable[str]) -> bool:
    """Whether IR texts or their declarations name instructions on matrix registers."""
    return any(_MATRIX_INSTRUCTION in text for text in texts)


def support_text(name: str, triple: str, features: Collection[str]) -> str:
    """The LLVM function `i1 NAME()`: whether the processor has the features.

    It looks at those that CPUID tells of, and asks Linux for matrix registers. On other processors
    it says yes, and also where the library is made on another kind of machine, whose LLVM may not
    read this assembly.
    """
    wanted = [_BITS[feature] for feature in features if feature in _BITS]
    families = {architecture(triple), architecture(native_target().triple)}
    if families != {"x86_64"} or not wanted:
        return f"define internal i1 @{name}() nounwind {{\n  ret i1 true\n}}\n"
    masks: dict[tuple[int, int], dict[str, int]] = {(1, 0): {"ecx": 1 << _SAVES_STATE}}
    for leaf, subleaf, register, bit in wanted:
        of_leaf = masks.setdefault((leaf, subleaf), {})
        of_leaf[register] = of_leaf.get(register, 0) | 1 << bit
    return _support_function(name, masks, _saved_state(features), "linux" in triple)


def _saved_state(features: Collection[str]) -> int:
    """The bits of what the operating system must save (XCR0)."""
    wide = any(feature.startswith("avx512") for feature in features)
    matrices = any(feature.startswith(MATRIX_PREFIX) for feature in features)
    return (_AVX512_STATE if wide else _AVX_STATE) | (_MATRIX_STATE if matrices else 0)


def _support_function(
    name: str, masks: dict[tuple[int, int], dict[str, int]], state: int, is_linux: bool
) -> str:
    last = "permission" if is_linux and state & _MATRIX_STATE else "yes"
    deepest = max(leaf for leaf, _ in masks if leaf < 0x80000000)
    lines = [f"define internal i1 @{name}() nounwind {{", "entry:"]
    lines += _cpuid("%limits", 0, 0)
    lines += [
        "  %deepest = extractvalue { i32, i32, i32, i32 } %limits, 0",
        f"  %deep = icmp uge i32 %deepest, {deepest}",
        "  br i1 %deep, label %leaf0, label %no",
    ]
    for number, ((leaf, subleaf), registers) in enumerate(sorted(masks.items())):
        lines.append(f"leaf{number}:")
        lines += _cpuid(f"%l{number}", leaf, subleaf)
        following = f"leaf{number + 1}" if number + 1 < len(masks) else last
        if number == 0:
            following = "state"
        lines += _check_registers(f"l{number}", registers, following)
        if number == 0:
            lines += _check_state(state, "leaf1" if len(masks) > 1 else last)
    lines += _ask_permission() if last == "permission" else []
    lines += ["yes:", "  ret i1 true", "no:", "  ret i1 false", "}"]
    return "\n".join(lines) + "\n"


def _cpuid(result: str, leaf: int, subleaf: int) -> list[str]:
    constraints = "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"
    return [
        f'  {result} = call {{ i32, i32, i32, i32 }} asm sideeffect "cpuid", "{constraints}"'
        f"(i32 {leaf}, i32 {subleaf})"
    ]


def _check_registers(prefix: str, registers: dict[str, int], following: str) -> list[str]:
    """Go on to `following` if all bits of the masks are set, else to `no`."""
    lines: list[str] = []
    all_set = "true"
    for register, mask in registers.items():
        name = f"%{prefix}_{register}"
        lines += [
            f"  {name} = extractvalue {{ i32, i32, i32, i32 }} %{prefix}, "
            f"{_REGISTERS.index(register)}",
            f"  {name}_bits = and i32 {name}, {mask}",
            f"  {name}_set = icmp eq i32 {name}_bits, {mask}",
            f"  {name}_all = and i1 {name}_set, {all_set}",
        ]
        all_set = f"{name}_all"
    return [*lines, f"  br i1 {all_set}, label %{following}, label %no"]


def _check_state(state: int, following: str) -> list[str]:
    """The operating system must save the vector registers (XGETBV)."""
    constraints = "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"
    return [
        "state:",
        f'  %xcr = call {{ i32, i32 }} asm sideeffect "xgetbv", "{constraints}"(i32 0)',
        "  %low = extractvalue { i32, i32 } %xcr, 0",
        f"  %saved = and i32 %low, {state}",
        f"  %saves = icmp eq i32 %saved, {state}",
        f"  br i1 %saves, label %{following}, label %no",
    ]


def _ask_permission() -> list[str]:
    """Linux saves matrix registers only for processes that asked for them."""
    constraints = "={ax},{ax},{di},{si},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"
    return [
        "permission:",
        f'  %answer = call i64 asm sideeffect "syscall", "{constraints}"'
        f"(i64 {ARCH_PRCTL}, i64 {REQUEST_PERMISSION}, i64 {TILE_DATA})",
        "  %granted = icmp eq i64 %answer, 0",
        "  br i1 %granted, label %yes, label %no",
    ]
