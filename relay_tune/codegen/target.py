"""Targets: the machine that code is made for.

`native`, or `TRIPLE[:CPU[:+feature,...]]`, such as `x86_64-linux-gnu:haswell`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

import llvmlite.binding as llvm

from relay_tune.arguments import instance_of
from relay_tune.codegen.implied_features import implied_features
from relay_tune.codegen.llvm_modules import initialize_llvm
from relay_tune.codegen.llvm_types import BYTES
from relay_tune.codegen.target_check import unknown_parts
from relay_tune.errors import InputError
from relay_tune.machine.architecture import DotProduct, Lookup, Streaming, Vectors
from relay_tune.machine.intrinsic import Intrinsic, permissions
from relay_tune.machine.machine import SERVER_MEMORIES, Machine, VectorUnit
from relay_tune.quick_dataclass import dataclass
from relay_tune.targets.registry import HOW_TO_WRITE, architecture_of


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
        """The key of this target's kernels in a tuning log."""
        vectors = f"{self.triple}:{self.cpu}:v{self.vector_bits}"
        return ":".join((vectors, *(each.key for each in self.intrinsics)))

    @property
    def intrinsics(self) -> tuple[Intrinsic, ...]:
        """The instructions on tiles that kernels may use."""
        return _intrinsics(self)

    @property
    def dot_products(self) -> tuple[DotProduct, ...]:
        """The instructions on words that kernels may use; the first of a pattern and width is."""
        return _dot_products(self)

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        """The instructions that look up floats or bytes in whole registers; the first of a type."""
        return _lookups(self)

    @property
    def machine(self) -> Machine:
        """The machine as known without measuring: the same on every host.

        Its caches are those of a server core, unless a measurement tells others
        (`relay_tune.runtime.target_machine`).
        """
        return _general_machine(self)

    @property
    def scales_powers(self) -> bool:
        """Whether one instruction splits and scales vectors of floats by powers of two."""
        return _vectors(self).scales_powers

    @property
    def rounds_bfloats(self) -> bool:
        """Whether one instruction rounds a vector of floats to bfloat16."""
        return _vectors(self).rounds_bfloats

    @property
    def streaming(self) -> Streaming | None:
        """How kernels fill large results."""
        return architecture_of(self.triple).streaming

    def lanes(self, dtype: str) -> int:
        """Elements of a type in one vector register."""
        return max(1, self.vector_bits // (8 * BYTES[dtype]))


@cache
def _intrinsics(target: Target) -> tuple[Intrinsic, ...]:
    about = target.triple, target.cpu, target.features, target.vector_bits
    known = architecture_of(target.triple).intrinsics
    return tuple(each for each in known if each.requirement.is_met(*about))


@cache
def _dot_products(target: Target) -> tuple[DotProduct, ...]:
    own, has = architecture_of(target.triple), _features(target)
    return tuple(
        each
        for each in own.dot_products
        if has.issuperset(each.features) and each.vector_bits <= target.vector_bits
    )


@cache
def _lookups(target: Target) -> tuple[Lookup, ...]:
    known, has = architecture_of(target.triple).lookups, _features(target)
    return tuple(
        each
        for each in known
        if has.issuperset(each.features) and each.lanes == target.lanes(each.dtype)
    )


@cache
def _features(target: Target) -> frozenset[str]:
    """Those of its architecture that code for a target may use."""
    own = architecture_of(target.triple)
    return implied_features(target.triple, target.cpu, target.features, tuple(own.features))


@cache
def _vectors(target: Target) -> Vectors:
    return architecture_of(target.triple).vectors(target.cpu, target.features)


@cache
def _general_machine(target: Target) -> Machine:
    vectors = VectorUnit(target.vector_bits // 8, target.vector_registers)
    coefficients = architecture_of(target.triple).coefficients
    words: dict[str, DotProduct] = {}
    for each in target.dot_products:
        if each.pattern and not target.cpu.startswith(each.slow_cpus):
            words.setdefault(each.pattern.name, each)
    words = {name: each for name, each in words.items() if _is_wanted(each, words)}
    lookups = {each.dtype: each.lanes for each in target.lookups}
    return Machine(
        vectors,
        SERVER_MEMORIES,
        target.intrinsics,
        coefficients,
        tuple(words),
        tuple((name, each.in_steps) for name, each in words.items() if each.in_steps),
        lookups.get("float32", 1).bit_length() - 1,
        "int8" in lookups,
    )


def _is_wanted(dot_product: DotProduct, words: Collection[str]) -> bool:
    """Whether no other one does the same with any elements."""
    pattern = dot_product.pattern
    return pattern is not None and pattern.general not in words


@cache
def native_target() -> Target:
    """The machine that this process runs on, without what the system does not let it use."""
    initialize_llvm()
    features = permitted_features(llvm.get_host_cpu_features())
    wanted = ",".join(
        f"{'+' if present else '-'}{name}" for name, present in sorted(features.items())
    )
    triple = llvm.get_process_triple()
    cpu = llvm.get_host_cpu_name()
    vectors = architecture_of(triple).vectors(cpu, wanted)
    return Target(triple, cpu, wanted, vectors.bits, vectors.registers)


def permitted_features(features: Mapping[str, bool]) -> dict[str, bool]:
    """A processor's features, those that need a permission only if this process gets it.

    The system is asked for them where the processor has them, and nowhere else.
    """
    found = dict(features)
    own = architecture_of(llvm.get_process_triple())
    for permission in permissions(own.intrinsics):
        wanted = [name for name, on in features.items() if on and permission.covers(name)]
        if wanted and not permission.ask():
            found |= dict.fromkeys(wanted, False)
    return found


def target_argument(target: object) -> Target:
    """The target that a user gives: one that is parsed, or its text."""
    if isinstance(target, Target):
        return target
    return parse_target(instance_of(str, target, "The target", HOW_TO_WRITE))


def parse_target(text: str) -> Target:
    """The target that a user names; raises InputError if LLVM does not know it."""
    if text == "native":
        return native_target()
    triple, _, rest = text.partition(":")
    cpu, _, features = rest.partition(":")
    own = architecture_of(triple)
    initialize_llvm()
    try:
        unknown = unknown_parts(triple, cpu, features)
    except RuntimeError as error:
        raise InputError(
            f"The target {text!r} is not known: {error}.", remedy=HOW_TO_WRITE
        ) from error
    if unknown:
        raise InputError(
            f"The target {text!r} is not known: LLVM has no {' and no '.join(unknown)} for "
            f"{triple}.",
            remedy=HOW_TO_WRITE,
        )
    if cpu in own.impossible_cpus:
        raise InputError(
            f"The target {text!r} is not possible: {cpu} is a processor of 32 bits.",
            remedy=f"Name one of 64 bits, such as {own.plain_cpu}.",
        )
    vectors = own.vectors(cpu, features)
    return Target(triple, cpu, features, vectors.bits, vectors.registers)
