"""Back and forth over weights that outgrow the cache, instead of round and round.

A matrix-vector product reads each weight once, and a recurrent network reads the same weights in
every step. Walked round and round, weights that are larger than the cache are never found in it:
each is evicted just before its next use. Walked back and forth, those that were read last are read
first the next time, and as many as the cache holds are found there (measured, 3 MB of weights and
2 MB of cache: 32 GB/s round and round, 57 GB/s back and forth).

    step 0   shares 0 1 2 3        step 1   shares 3 2 1 0        step 2   shares 0 1 2 3

A kernel is not changed for that: it is called for one share of its parallel loop after the other,
and what alternates is their order, from call to call within a program and from run to run. Each
thread has its own shares, so that two caches hold different weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from relay_tune.tensor.streamed import is_streamed

SHARE_BYTES = 128 << 10
"""A share reads about as much: small beside a second cache, large beside the cost of a call."""

LEAST_BYTES = 2 * SHARE_BYTES
SWEEP_PATIENCE = 64
"""Spins before a thread takes a share from another: about the time of a share, whose weights lie in
the other's cache."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Which way a kernel walks.

    Attributes:
        backward: whether it begins with the last share in the first run.
        alternates: whether the next run walks the other way.
    """

    backward: bool
    alternates: bool


def sweep_shares(weight_bytes: int, points: int, iterations: int, item_bytes: int = 4) -> int:
    """The shares of a kernel that is worth sweeping, a power of two; 0 for other kernels.

    Arguments: the bytes of its largest constant, how often its innermost statement runs, the
    iterations of its parallel loop, and the bytes of an element of the constant.
    """
    uses = points * item_bytes / max(weight_bytes, 1)
    if weight_bytes < LEAST_BYTES or not is_streamed(uses) or iterations < 2:
        return 0
    wanted = -(-weight_bytes // SHARE_BYTES)
    shares = 1
    while shares < wanted and shares * 2 <= iterations:
        shares *= 2
    return shares


def directions(weights: Sequence[Hashable | None]) -> list[Direction | None]:
    """The direction of each call of a program, given the weights that it sweeps (None for none).

    Calls that read the same weights alternate; where their number in a program is odd, so do runs.
    """
    total = Counter(key for key in weights if key is not None)
    seen: Counter[Hashable] = Counter()
    found: list[Direction | None] = []
    for key in weights:
        if key is None:
            found.append(None)
            continue
        found.append(Direction(seen[key] % 2 == 1, total[key] % 2 == 1))
        seen[key] += 1
    return found
