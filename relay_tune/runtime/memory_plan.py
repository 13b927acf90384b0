"""Where intermediate tensors lie in one block of memory, so that few bytes serve many tensors.

Tensors are placed in the order in which they come to life, each into the smallest free gap that
holds it (best fit); what was freed last is warm in the caches. Time and memory are linear in the
number of tensors, up to a search in the list of gaps. Where that takes more than is allowed, large
tensors are placed first, which leaves fewer gaps and takes quadratic time (Pisarchyk and Lee,
"Efficient memory management for deep neural net inference", 2020, call it greedy by size).

Where sizes are known at run time only, tensors that are never alive together share blocks, each of
which is as large as its largest tensor in that run: whatever the sizes are, no two overlap. Which
tensors share one is decided by example sizes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.aligned_memory import rounded_up


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A tensor of `size` bytes that is alive from step `first` through step `last`."""

    size: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The offset of each tensor in bytes, in the order given, and the bytes of the whole block."""

    offsets: tuple[int, ...]
    total: int


def plan_memory(lifetimes: Sequence[Lifetime], limit: int | None = None) -> MemoryPlan:
    """Place tensors so that no two which are alive in one step overlap; 64-byte aligned.

    Where the whole would have more than `limit` bytes, it has as few as were found.
    """
    plan = _planned_in_order(lifetimes)
    if limit is None or plan.total <= limit:
        return plan
    return min(plan, _planned_by_size(lifetimes), key=lambda each: each.total)


def _planned_in_order(lifetimes: Sequence[Lifetime]) -> MemoryPlan:
    offsets = [0] * len(lifetimes)
    block = _Block()
    arrivals = sorted(range(len(lifetimes)), key=lambda n: (lifetimes[n].first, -lifetimes[n].size))
    departures = sorted(range(len(lifetimes)), key=lambda n: lifetimes[n].last, reverse=True)
    for number in arrivals:
        first = lifetimes[number].first
        while departures and lifetimes[departures[-1]].last < first:
            gone = departures.pop()
            block.free(offsets[gone], rounded_up(lifetimes[gone].size))
        offsets[number] = block.allocate(rounded_up(lifetimes[number].size))
    return MemoryPlan(tuple(offsets), block.end)


def _planned_by_size(lifetimes: Sequence[Lifetime]) -> MemoryPlan:
    """Each tensor at the first offset that is free as long as it lives, large ones first."""
    firsts = np.array([each.first for each in lifetimes])
    lasts = np.array([each.last for each in lifetimes])
    sizes = [rounded_up(each.size) for each in lifetimes]
    order = sorted(range(len(sizes)), key=lambda n: (-sizes[n], firsts[n] - lasts[n], n))
    begins, ends = np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    for number in order:  # what has no offset yet ends at 0, before everything
        together = (firsts <= lasts[number]) & (firsts[number] <= lasts) & (ends > 0)
        begin = 0
        for other in sorted(zip(begins[together].tolist(), ends[together].tolist(), strict=True)):
            if begin + sizes[number] <= other[0]:
                break
            begin = max(begin, other[1])
        begins[number], ends[number] = begin, begin + sizes[number]
    return MemoryPlan(tuple(begins.tolist()), int(ends.max(initial=0)))


def plan_blocks(lifetimes: Sequence[Lifetime]) -> tuple[int, ...]:
    """For each tensor the number of its block, which it has alone as long as it is alive.

    It is the smallest free one that holds its example, else the largest free one, which grows.
    """
    blocks = [0] * len(lifetimes)
    sizes: list[int] = []
    free: list[int] = []
    arrivals = sorted(range(len(lifetimes)), key=lambda n: (lifetimes[n].first, -lifetimes[n].size))
    departures = sorted(range(len(lifetimes)), key=lambda n: lifetimes[n].last, reverse=True)
    for number in arrivals:
        first, size = lifetimes[number].first, lifetimes[number].size
        while departures and lifetimes[departures[-1]].last < first:
            free.append(blocks[departures.pop()])
        if not free:
            free.append(len(sizes))
            sizes.append(size)
        holding = [block for block in free if sizes[block] >= size]
        block = min(holding or free, key=lambda block: abs(sizes[block] - size))
        free.remove(block)
        sizes[block] = max(sizes[block], size)
        blocks[number] = block
    return tuple(blocks)


class _Block:
    """Memory that grows at its end; gaps are sorted by offset, neighbouring ones are joined."""

    def __init__(self) -> None:
        self.end = 0
        self._gaps: list[tuple[int, int]] = []

    def allocate(self, size: int) -> int:
        """The offset of `size` bytes in the smallest gap that holds them, or at the end."""
        fitting = [gap for gap in self._gaps if gap[1] - gap[0] >= size]
        if not fitting:
            return self._grow(size)
        begin, end = min(fitting, key=lambda gap: gap[1] - gap[0])
        self._gaps.remove((begin, end))
        if begin + size < end:
            insort(self._gaps, (begin + size, end))
        return begin

    def _grow(self, size: int) -> int:
        """Bytes at the end; a gap that reaches it is a part of them."""
        begin = self.end
        if self._gaps and self._gaps[-1][1] == self.end:
            begin = self._gaps.pop()[0]
        self.end = begin + size
        return begin

    def free(self, begin: int, size: int) -> None:
        """Make bytes a gap."""
        end = begin + size
        position = bisect_left(self._gaps, (begin, end))
        if position < len(self._gaps) and self._gaps[position][0] == end:
            end = self._gaps.pop(position)[1]
        if position and self._gaps[position - 1][1] == begin:
            begin = self._gaps.pop(position - 1)[0]
        insort(self._gaps, (begin, end))
