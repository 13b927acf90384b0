"""Copies of a candidate's constants, one for each run, as the rest of its network would have it.

Between two runs of a kernel a network reads the weights of all other kernels, so that it seldom
finds its own in a near cache: they come from the first cache that holds what the whole network
touches. A candidate that ran on the same weights again and again would look faster than it is in
the network, the more so the more weights its algorithm reads. Outputs come to lie in memory that
was used some kernels before. Inputs are different: the kernel before has just written them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.runtime.aligned_memory import aligned_bytes, rounded_up
from relay_tune.runtime.cache_sizes import LARGEST_SHARE, cache_sizes
from relay_tune.runtime.large_pages import large_page_bytes

Array = np.ndarray[Any, Any]

MOST_BYTES = 2 * LARGEST_SHARE
"""No more is copied for one candidate: copies cost time that other candidates could have."""

MOST_COPIES = 64

MEASURING_SECONDS = 10e-3
"""About how long a candidate runs; one that takes long needs copies for a few runs only."""

DRIVEN_OUT = 2
"""Reading so many times as much as a cache holds leaves nothing of before in it."""

FILLED_SHARE = 1 / 2
"""A network that reads more than this part of a cache finds little of it there the next time.

Measured with resnet18, 57 MB: its layers of 512 channels take as long as with weights from memory.
"""


def copies_wanted(constant_bytes: int, other_bytes: int, seconds: float, threads: int) -> int:
    """On how many copies of its constants a candidate is to run in turn.

    Args:
        constant_bytes: of all its constants.
        other_bytes: the network's footprint between two runs.
        seconds: of one run.
        threads: that run it.
    """
    if not constant_bytes:
        return 1
    evicting = 1 + math.ceil(
        min(_evicting_bytes(other_bytes, threads), MOST_BYTES) / constant_bytes
    )
    return min(evicting, _runs(seconds), MOST_COPIES)


def outputs_wanted(
    output_bytes: int, constant_bytes: int, other_bytes: int, seconds: float, threads: int
) -> int:
    """How many sets of output buffers a candidate rotates through; as for `copies_wanted`.

    Where a network clears the L1 and L2 of a thread, they hold nothing of the memory in which
    outputs come to lie: it was used some kernels before. The last-level cache does hold it. A run
    whose footprint is larger than L1 and L2 clears them by itself.
    """
    private, footprint = _cleared(other_bytes) * threads, output_bytes + constant_bytes
    if not output_bytes or not private:
        return 1
    others = 1 if footprint >= private else math.ceil(DRIVEN_OUT * private / footprint)
    return 1 + min(others, _runs(seconds), MOST_COPIES)


def runs_in_turn(copies: int, output_sets: int) -> int:
    """After how many runs the first copy and the first set of outputs follow again.

    The last of these has not the first copy, if there are others, and where that is at most twice
    as many runs, not the first set of outputs either.
    """
    both = math.lcm(copies, output_sets)
    most = max(copies, output_sets)
    return both if both <= 2 * most else -(-most // copies) * copies


def _runs(seconds: float) -> int:
    """How often a candidate runs about."""
    return 2 + math.ceil(MEASURING_SECONDS / seconds)


def _cleared(other_bytes: int) -> int:
    """The largest of a thread's own caches that a network clears which touches so much."""
    *private, _ = cache_sizes()
    return max((size for size in private if FILLED_SHARE * size < other_bytes), default=0)


def _evicting_bytes(other_bytes: int, threads: int) -> int:
    """Bytes to read between two runs so that constants come from where they would in a network.

    A network clears the caches that are small beside it, of each thread that runs it. To clear
    these is enough, however much more the network reads. The last cache is one for all threads.
    """
    last = min(cache_sizes()[-1], LARGEST_SHARE)
    if FILLED_SHARE * last < other_bytes:
        return DRIVEN_OUT * last
    return min(other_bytes, DRIVEN_OUT * _cleared(other_bytes) * threads)


class ConstantCopies:
    """Memory for copies, which one candidate after the other uses."""

    def __init__(self) -> None:
        self._memory: Array = aligned_bytes(0)
        self._numbers = 0

    def copy(self, constants: Sequence[Array], count: int) -> list[list[int]]:
        """The addresses of `count` copies of contiguous arrays, the arrays themselves first.

        How long a kernel takes does not depend on the values of floating-point numbers, and results
        of runs on copies are not looked at: memory that holds numbers of candidates before is not
        written again.
        """
        sizes = [rounded_up(array.nbytes) for array in constants]
        needed = sum(sizes) * (count - 1)
        if len(self._memory) < needed:
            self._memory, self._numbers = large_page_bytes(needed), 0
        are_numbers = all(array.dtype.kind == "f" for array in constants)
        is_filled = are_numbers and needed <= self._numbers
        addresses = [[int(array.ctypes.data) for array in constants]]
        position = 0
        for _ in range(count - 1):
            addresses.append([])
            for array, size in zip(constants, sizes, strict=True):
                target = self._memory[position : position + array.nbytes]
                if not is_filled:
                    target[:] = array.reshape(-1).view(np.uint8)
                addresses[-1].append(int(target.ctypes.data))
                position += size
        if not is_filled:
            self._numbers = max(self._numbers, needed) if are_numbers else 0
        return addresses
