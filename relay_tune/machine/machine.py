"""What estimates know of the machine that a schedule is chosen for."""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.machine.intrinsic import Intrinsic
from relay_tune.machine.pattern import TilePattern

LINE_BYTES = 64
"""Of a line in the caches of all processors that code is generated for."""

LINE_ELEMENTS = LINE_BYTES // 4
"""Numbers of 32 bits in a line."""

PRIVATE_CACHES = 2
"""The nearest caches belong to one core each."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One processor core and its caches, in bytes and cycles.

    A cycle is the time in which the core does `fused_per_cycle` fused multiply-adds of whole
    vectors. The figures that are given here are rounded ones of a server core, for machines that
    nothing was measured on; their ratios matter, not their size.

    Attributes:
        vector_bytes: of a vector register.
        registers: how many vector registers there are.
        fused_per_cycle: fused multiply-adds of whole vectors in a cycle.
        loads_per_cycle: vectors loaded from the first cache in a cycle.
        latency: cycles from a fused multiply-add to its result.
        cache_bytes: how much of each cache a kernel's data can fill, the nearest cache first.
        cache_bandwidth: bytes read in a cycle from each cache, and last from memory.
        intrinsics: its instructions on tiles, with the cycles that they take.
    """

    vector_bytes: int
    registers: int
    fused_per_cycle: float = 2.0
    loads_per_cycle: float = 1.7
    latency: float = 4.0
    cache_bytes: tuple[int, ...] = (32 << 10, 768 << 10, 16 << 20)
    cache_bandwidth: tuple[float, ...] = (110.0, 48.0, 24.0, 8.0)
    intrinsics: tuple[Intrinsic, ...] = ()

    def intrinsic(self, pattern: TilePattern) -> Intrinsic | None:
        """What computes the products of a pattern here, if anything does."""
        return next((each for each in self.intrinsics if each.pattern == pattern), None)
