"""Targets: the machine that code is made for.

`native`, or `TRIPLE[:CPU[:+feature,...]]`, such as `x86_64-linux-gnu:haswell`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from relay_tune.arguments import instance_of
from relay_tune.codegen.llvm_types import BYTES
from relay_tune.codegen.target_check import unknown_parts
from relay_tune.errors import InputError
from relay_tune.machine.intrinsic import Intrinsic, permissions
from relay_tune.machine.machine import Machine
from relay_tune.targets.x86.intrinsics import INTRINSICS

BFLOAT16_CPUS = (
    "cooperlake",
    "sapphirerapids",
    "emeraldrapids",
    "graniterapids",
    "diamondrapids",
    "znver4",
    "znver5",
)
"""Beginnings of the names of processors that round vectors to bfloat16 (AVX-512BF16)."""

WIDE_VECTOR_CPUS = (
    "skylake-avx512",
    "cascadelake",
    "icelake",
    "x86-64-v4",
    *BFLOAT16_CPUS,
)

CPUS_OF_32_BITS = tuple(
    """
    i386 i486 i586 i686 pentium pentium-mmx pentiumpro pentium2 pentium3 pentium3m pentium-m
    pentium4 pentium4m yonah prescott lakemont k6 k6-2 k6-3 athlon athlon-tbird athlon-xp
    athlon-mp athlon-4 geode winchip-c6 winchip2 c3 c3-2
    """.split()
)
"""Names that LLVM knows, and for which it ends the process when 64-bit code is wanted."""

_HOW_TO_WRITE = (
    "Write native, or TRIPLE[:CPU[:+feature,...]], "
    "such as x86_64-linux-gnu:haswell or aarch64-linux-gnu:cortex-a72."
)


@dataclass(frozen=True, slots=True)
class Target:
    """A machine for code generation.

    Attributes:
        triple: the LLVM target triple.
        cpu: LLVM's name of the processor.
        features: LLVM feature string; empty where the processor says it all.
        vector_bits: width of the vector registers that kernels use.
        vector_registers: how many of them there are.
    """

    triple: str
    cpu: str
    features: str
    vector_bits: int
    vector_registers: int

    def __str__(self) -> str:
        return ":".join(part for part in (self.triple, self.cpu) if part)

    @property
    def key(self) -> str:
        """What tells this target's kernels from others in a tuning log."""
        vectors = f"{self.triple}:{self.cpu}:v{self.vector_bits}"
        return ":".join((vectors, *(each.key for each in self.intrinsics)))

    @property
    def intrinsics(self) -> tuple[Intrinsic, ...]:
        """The instructions on tiles that kernels may use."""
        return _intrinsics(self)

    @property
    def machine(self) -> Machine:
        """What is known of it without measuring: the same on every host.

        Its caches are those of a server core, unless a measurement tells others
        (`relay_tune.runtime.target_machine`).
        """
        return _general_machine(self)

    @property
    def scales_powers(self) -> bool:
        """Whether vectors of floats are split and scaled by powers of two at once (AVX-512DQ)."""
        given = self.features.split(",")
        if self.vector_bits < 512 or "-avx512dq" in given:
            return False
        return "+avx512dq" in given or _is_wide(self.cpu)

    @property
    def rounds_bfloats(self) -> bool:
        """Whether one instruction rounds a vector of floats to bfloat16 (AVX-512BF16)."""
        given = self.features.split(",")
        if self.vector_bits < 512 or "-avx512bf16" in given:
            return False
        return "+avx512bf16" in given or self.cpu.startswith(BFLOAT16_CPUS)

    def lanes(self, dtype: str) -> int:
        """Elements of a type in one vector register."""
        return max(1, self.vector_bits // (8 * BYTES[dtype]))


@cache
def _intrinsics(target: Target) -> tuple[Intrinsic, ...]:
    if not target.triple.startswith("x86_64"):
        return ()
    about = target.triple, target.cpu, target.features, target.vector_bits
    return tuple(each for each in INTRINSICS if each.requirement.is_met(*about))


@cache
def _general_machine(target: Target) -> Machine:
    return Machine(target.vector_bits // 8, target.vector_registers, intrinsics=target.intrinsics)


@cache
def initialize_llvm() -> None:
    """Make LLVM's code generators known; done once."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@cache
def native_target() -> Target:
    """The machine that this process runs on, without what the system does not let it use."""
    initialize_llvm()
    features = permitted_features(llvm.get_host_cpu_features())
    wanted = ",".join(
        f"{'+' if present else '-'}{name}" for name, present in sorted(features.items())
    )
    triple = llvm.get_process_triple()
    bits, registers = _vector_shape(triple, frozenset(n for n, on in features.items() if on))
    return Target(triple, llvm.get_host_cpu_name(), wanted, bits, registers)


def permitted_features(features: Mapping[str, bool]) -> dict[str, bool]:
    """A processor's features, those that need a permission only if this process gets it.

    The system is asked for them where the processor has them, and nowhere else.
    """
    found = dict(features)
    for permission in permissions(INTRINSICS):
        wanted = [name for name, on in features.items() if on and permission.covers(name)]
        if wanted and not permission.ask():
            found |= dict.fromkeys(wanted, False)
    return found


def target_argument(target: object) -> Target:
    """The target that a user gives: one that is parsed, or its text."""
    if isinstance(target, Target):
        return target
    return parse_target(instance_of(str, target, "The target", _HOW_TO_WRITE))


def parse_target(text: str) -> Target:
    """The target that a user names; raises InputError if LLVM does not know it."""
    if text == "native":
        return native_target()
    initialize_llvm()
    triple, _, rest = text.partition(":")
    cpu, _, features = rest.partition(":")
    try:
        unknown = unknown_parts(triple, cpu, features)
    except RuntimeError as error:
        raise InputError(
            f"The target {text!r} is not known: {error}.", remedy=_HOW_TO_WRITE
        ) from error
    if unknown:
        raise InputError(
            f"The target {text!r} is not known: LLVM has no {' and no '.join(unknown)} for "
            f"{triple}.",
            remedy=_HOW_TO_WRITE,
        )
    if triple.startswith("x86_64") and cpu in CPUS_OF_32_BITS:
        raise InputError(
            f"The target {text!r} is not possible: {cpu} is a processor of 32 bits.",
            remedy="Name one of 64 bits, such as x86-64 or haswell.",
        )
    bits, registers = _named_vector_shape(triple, cpu, features)
    return Target(triple, cpu, features, bits, registers)


def _vector_shape(triple: str, features: frozenset[str]) -> tuple[int, int]:
    """Bits and number of vector registers of a machine with these features."""
    if not triple.startswith(("x86_64", "i686")):
        return (128, 32) if triple.startswith(("aarch64", "arm64")) else (128, 16)
    if "avx512f" in features and "avx512vl" in features:
        return 512, 32
    return (256, 16) if "avx2" in features else (128, 16)


def _named_vector_shape(triple: str, cpu: str, features: str) -> tuple[int, int]:
    """Bits and number of vector registers of a processor that is known by name."""
    chosen = {name[1:] for name in features.split(",") if name.startswith("+")}
    narrow = cpu in ("haswell", "broadwell", "skylake", "x86-64-v3", "alderlake", "raptorlake")
    if _is_wide(cpu) and "-avx512f" not in features:
        chosen |= {"avx512f", "avx512vl", "avx2"}
    elif narrow or cpu.startswith("znver"):
        chosen.add("avx2")
    return _vector_shape(triple, frozenset(chosen))


def _is_wide(cpu: str) -> bool:
    """Whether a processor is known by name to have vectors of 512 bits."""
    return cpu.startswith(WIDE_VECTOR_CPUS)
