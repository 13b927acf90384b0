"""What passes and estimates know of the machine that they choose for."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from math import inf

from relay_tune.machine.coefficients import MEASURED_ON_SERVERS, Coefficients
from relay_tune.machine.intrinsic import Intrinsic
from relay_tune.machine.pattern import INTEGER_PATTERNS, JOINED, TilePattern, WordSteps
from relay_tune.quick_dataclass import dataclass

LINE_BYTES = 64
"""Of a line in the caches of all processors that code is generated for."""

PAGE_BYTES = 4096
"""What the ways of a first cache are as large as, so that addresses need no translation."""

LINE_ELEMENTS = LINE_BYTES // 4
"""Numbers of 32 bits in a line."""

FEW_REGISTERS = 16
"""Of vectors."""


class MemoryScope(Enum):
    """Whose a memory is."""

    CORE = "core"
    SHARED = "shared"
    MAIN = "main"


@dataclass(frozen=True, slots=True)
class Memory:
    """A cache, or what lies behind all caches.

    Attributes:
        scope: whose it is.
        bytes: how much of it a kernel's data can fill; `inf` of the last one.
        rate: bytes read from it in a cycle.
    """

    scope: MemoryScope
    bytes: float
    rate: float


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """The vector registers of a core, and what computes with them.

    Attributes:
        bytes: of a register.
        registers: how many there are.
        fused_per_cycle: fused multiply-adds of whole vectors in a cycle.
        loads_per_cycle: vectors loaded from the first cache in a cycle.
        latency: cycles from a fused multiply-add to its result.
    """

    bytes: int
    registers: int
    fused_per_cycle: float = 2.0
    loads_per_cycle: float = 1.7
    latency: float = 4.0

    @property
    def has_few(self) -> bool:
        """Whether tiles of results are small, so that they do little with each line they read.

        12 of 16 registers are summed in: 6 by 16 float32 of AVX2. AVX-512 has tiles of 14 by 32.
        """
        return self.registers <= FEW_REGISTERS


SERVER_MEMORIES = (
    Memory(MemoryScope.CORE, 32 << 10, 110.0),
    Memory(MemoryScope.CORE, 768 << 10, 48.0),
    Memory(MemoryScope.SHARED, 16 << 20, 24.0),
    Memory(MemoryScope.MAIN, inf, 8.0),
)
"""Rounded figures of a server core; their ratios matter, not their size."""

PRIVATE_CACHES = sum(memory.scope is MemoryScope.CORE for memory in SERVER_MEMORIES)
"""The nearest caches belong to one core each."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One processor core and its memories, in bytes and cycles.

    A cycle is the time in which the core does `vectors.fused_per_cycle` fused multiply-adds of
    whole vectors. What is not given are figures for machines that nothing was measured on.

    Attributes:
        vectors: its vector unit.
        memories: the nearest cache first, and last what has room for everything.
        intrinsics: its instructions on tiles, with the cycles that they take.
        coefficients: what else the cost of a schedule is made of.
        dot_products: the operations on words that it computes as fast as a fused multiply-add.
        in_steps: what those of them take that are several instructions.
        lookup_bits: numbers of so many bits become floats by one instruction; 0 if none do.
        looks_up_bytes: whether it looks up bytes in tables that registers hold.
    """

    vectors: VectorUnit
    memories: tuple[Memory, ...] = SERVER_MEMORIES
    intrinsics: tuple[Intrinsic, ...] = ()
    coefficients: Coefficients = MEASURED_ON_SERVERS
    dot_products: tuple[str, ...] = ()
    in_steps: tuple[tuple[str, WordSteps], ...] = ()
    lookup_bits: int = 0
    looks_up_bytes: bool = False
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self._fields))

    def __hash__(self) -> int:
        """Computed once: estimates are remembered by machine, among others."""
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        """Another process hashes names otherwise."""
        return Machine, self._fields

    @property
    def _fields(self) -> tuple[object, ...]:
        known = self.vectors, self.memories, self.intrinsics, self.coefficients
        words = self.dot_products, self.in_steps
        return *known, *words, self.lookup_bits, self.looks_up_bytes

    def steps_of(self, operation: str) -> WordSteps:
        """What an operation takes for a vector: one instruction, if nothing else is known."""
        return next((steps for name, steps in self.in_steps if name == operation), JOINED)

    @property
    def multiplies_words(self) -> bool:
        """Whether one of its dot products is of words of narrow integers."""
        return any(pattern.name in self.dot_products for pattern in INTEGER_PATTERNS)

    @property
    def caches(self) -> tuple[Memory, ...]:
        """The memories that have not room for everything."""
        return self.memories[:-1]

    @property
    def last_cache(self) -> Memory:
        """The largest cache."""
        return self.memories[-2]

    @property
    def main(self) -> Memory:
        """What lies behind all caches."""
        return self.memories[-1]

    def intrinsic(self, pattern: TilePattern) -> Intrinsic | None:
        """What computes the products of a pattern here, if anything does."""
        return next((each for each in self.intrinsics if each.pattern == pattern), None)
