"""Limits of a machine: arithmetic, and reading from caches and memory.

No kernel can take less time than its operations and its bytes take at these rates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import starmap
from math import inf

from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.ir.dtypes import DTYPES
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.describe import counted

COMPUTE = "compute"
MEMORY = "memory"
DISTURBED = "disturbed rates"

LEAST, MOST = 1.0, 1e18
"""Bytes of caches, and rates a second, are within these bounds on every machine."""


@dataclass(frozen=True, slots=True)
class CacheLimit:
    """A cache, of all threads of a run together.

    Attributes:
        bytes: that it holds.
        rate: bytes read from it in a second.
    """

    bytes: float
    rate: float


@dataclass(frozen=True, slots=True)
class Bound:
    """The least time for some work, and why.

    Attributes:
        seconds: the time.
        name: what takes it: `compute`, `L1`, `L2`, ..., or `memory`.
    """

    seconds: float
    name: str


@dataclass(frozen=True, slots=True)
class MachineLimits:
    """The rates of all threads of a run together.

    Attributes:
        threads: how many there are.
        operations: arithmetic operations a second by element type; a fused multiply-add is two.
            Those of an intrinsic are called as its pattern is; they are measured between loads of
            the operands from the first cache.
        caches: the caches, the nearest first.
        memory: bytes read a second from memory.
        disturbed: how many of these rates did not repeat when they were measured; they may be too
            low, for other work was running.
    """

    threads: int
    operations: Mapping[str, float]
    caches: tuple[CacheLimit, ...]
    memory: float
    disturbed: int = 0

    def __str__(self) -> str:
        peaks = [f"{name} {rate / 1e9:.0f}" for name, rate in self.operations.items()]
        caches = [f"L{n} {cache.rate / 1e9:.0f}" for n, cache in enumerate(self.caches, start=1)]
        of = counted(self.threads, "thread")
        reads = ", ".join([*caches, f"{MEMORY} {self.memory / 1e9:.0f}"])
        return f"{', '.join(peaks)} GFLOP/s; {reads} GB/s; {of}{self._doubt}"

    @property
    def _doubt(self) -> str:
        return f" (beside other work: {disturbed_text(self.disturbed)})" if self.disturbed else ""

    def bound(self, work: KernelWork) -> Bound:
        """The least time for the operations and the bytes of some work.

        Stages run one after the other, each at the rate of what computes it. Work for
        an intrinsic takes forever where there is none.
        """
        compute = Bound(sum(starmap(self._computing, work.operations.items())), COMPUTE)
        reading = self.reading(work.bytes)
        return compute if compute.seconds >= reading.seconds else reading

    def least_bound(self, works: Iterable[KernelWork]) -> Bound:
        """The least time of several ways to do the same; there must be at least one."""
        return min(map(self.bound, works), key=lambda bound: bound.seconds)

    def _computing(self, unit: str, count: float) -> float:
        """The seconds of operations; what is computed faster in float32 is computed so."""
        own = self.operations.get(unit, 0.0)
        if unit not in DTYPES:  # an intrinsic, which nothing else stands in for
            return count / own if own else inf
        return count / max(own, self.operations["float32"])

    def reading(self, bytes_moved: float) -> Bound:
        """The least time to read so many bytes, which were used not long ago.

        They come from the first cache that holds them all. Of data up to twice as large as a cache
        a part is still there, the smaller the larger the data.
        """
        left: float = 1.0
        spent: list[Bound] = []
        for number, cache in enumerate(self.caches, start=1):
            kept = left * min(1.0, max(0.0, 2.0 - bytes_moved / cache.bytes))
            spent.append(Bound(kept * bytes_moved / cache.rate, f"L{number}"))
            left -= kept
        spent.append(Bound(left * bytes_moved / self.memory, MEMORY))
        most = max(spent, key=lambda bound: bound.seconds)
        return Bound(sum(bound.seconds for bound in spent), most.name)

    def joined(self, other: MachineLimits) -> MachineLimits:
        """The higher rates of two measurements: disturbances only ever lower them.

        Where the other one knows another number of caches, which is of another machine, the caches
        are those of this one.
        """
        others = other.caches if len(other.caches) == len(self.caches) else self.caches
        names = {**self.operations, **other.operations}
        return MachineLimits(
            self.threads,
            {n: max(self.operations.get(n, 0.0), other.operations.get(n, 0.0)) for n in names},
            tuple(
                CacheLimit(own.bytes, max(own.rate, its.rate))
                for own, its in zip(self.caches, others, strict=True)
            ),
            max(self.memory, other.memory),
            min(self.disturbed, other.disturbed),
        )

    def entries(self) -> dict[str, float]:
        """The limits as the rows that a tuning log keeps."""
        of = f"{self.threads} threads"
        found = {f"{name} operations/s, {of}": rate for name, rate in self.operations.items()}
        for number, cache in enumerate(self.caches, start=1):
            found[f"L{number} bytes, {of}"] = cache.bytes
            found[f"L{number} bytes/s, {of}"] = cache.rate
        found[f"{MEMORY} bytes/s, {of}"] = self.memory
        return {**found, f"{DISTURBED}, {of}": float(self.disturbed)}

    @staticmethod
    def from_entries(entries: Mapping[str, float], threads: int) -> MachineLimits | None:
        """The limits of so many threads, or None where the rows do not tell all of them.

        Rows that are of no machine, such as a rate of 5e-324, tell nothing.
        """
        entries = {name: value for name, value in entries.items() if LEAST <= value <= MOST}
        of = f"{threads} threads"
        end = f" operations/s, {of}"
        operations = {
            name.removesuffix(end): rate for name, rate in entries.items() if name.endswith(end)
        }
        caches: list[CacheLimit] = []
        while f"L{len(caches) + 1} bytes, {of}" in entries:
            name = f"L{len(caches) + 1}"
            size, rate = entries[f"{name} bytes, {of}"], entries.get(f"{name} bytes/s, {of}", 0.0)
            caches.append(CacheLimit(size, rate))
        memory = entries.get(f"{MEMORY} bytes/s, {of}", 0.0)
        rates = [memory, *(value for cache in caches for value in (cache.bytes, cache.rate))]
        if "float32" not in operations or not caches or min(rates) <= 0:
            return None
        disturbed = int(entries.get(f"{DISTURBED}, {of}", 0.0))
        return MachineLimits(threads, operations, tuple(caches), memory, disturbed)


def disturbed_text(count: int) -> str:
    """Explain rates that did not repeat."""
    return f"{counted(count, 'rate')} of the machine did not repeat and may be too low"
