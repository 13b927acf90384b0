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

That is worth something where caches still hold a part of the weights at the next walk. Where other
weights that are read between two walks fill them, nothing of the first walk is left whatever its
direction, and backward walks come slower: what a share asks for ahead is what has been read before.
A step of a decoder reads all its weights once: 3.2 ms backward and 2.4 ms forward, with 79 MB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.streamed import is_streamed

SHARE_BYTES = 128 << 10
"""A share reads about as much: small beside a second cache, large beside the cost of a call."""

LEAST_BYTES = 2 * SHARE_BYTES

LEAST_USES = 0.5
"""A call that uses less of a constant looks up rows of it."""

KEPT_BYTES = 16 << 20
"""What a last cache keeps: as many bytes between two walks leave nothing of the first one."""

SWEEP_PATIENCE = 64
"""Spins before a thread takes a share from another: about the time of a share, whose weights lie in
the other's cache."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a call reads of constants.

    Attributes:
        weights: what it sweeps over, None for other calls.
        own: the bytes that it reads of them.
        read: the bytes that it reads of all its constants.
    """

    weights: Hashable | None
    own: int = 0
    read: int = 0


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
    if weight_bytes < LEAST_BYTES or iterations < 2:
        return 0
    if uses < LEAST_USES or not is_streamed(uses):
        return 0
    wanted = -(-weight_bytes // SHARE_BYTES)
    shares = 1
    while shares < wanted and shares * 2 <= iterations:
        shares *= 2
    return shares


def directions(calls: Sequence[Sweep], elsewhere: int = 0) -> list[Direction | None]:
    """The direction of each call of a function; None where it is not swept or that gains nothing.

    Calls that read the same weights alternate; where their number is odd, so do runs, between which
    others read `elsewhere` bytes.
    """
    kept = _kept(calls, elsewhere)
    total = Counter(call.weights for call in calls if call.weights in kept)
    seen: Counter[Hashable] = Counter()
    found: list[Direction | None] = []
    for call in calls:
        if call.weights not in kept:
            found.append(None)
            continue
        found.append(Direction(seen[call.weights] % 2 == 1, total[call.weights] % 2 == 1))
        seen[call.weights] += 1
    return found


def _kept(calls: Sequence[Sweep], elsewhere: int) -> set[Hashable]:
    """The swept weights of which caches hold something at the next walk over them.

    Runs follow each other, so that the walk behind the last one is the first one of the next run.
    """
    whole, before = elsewhere + sum(call.read for call in calls), 0
    walks: dict[Hashable, list[int]] = {}
    own: dict[Hashable, int] = {}
    for call in calls:
        if call.weights is not None:
            walks.setdefault(call.weights, []).append(before)
            own[call.weights] = call.own
        before += call.read
    return {
        weights
        for weights, offsets in walks.items()
        if min(
            following - offset - own[weights]
            for offset, following in pairwise((*offsets, offsets[0] + whole))
        )
        < KEPT_BYTES
    }
