"""The tuned network beside the untuned one: where a kernel does not hold, its default stays.

Kernels are tuned by themselves. In the network other kernels have used the caches in between, and
a winner may lose. Both networks run in turn, kernel by kernel, so that each is compared with its
default one where it will run; then they run as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relay_tune.tuning.variants import Choices, Variant, Variants


@dataclass(frozen=True, slots=True)
class NetworkVerdict:
    """What became of the tuned schedules.

    Attributes:
        kept: the schedule of each primitive: the tuned one where it holds, else the default one.
        seconds: one run of each primitive under it in the network.
        untuned_seconds: one run of the whole network with default schedules.
        tuned_seconds: and with those that are kept.
        ratios: the former by the latter, turn by turn; none where all default schedules stay.
        defaults: the digests of the primitives whose tuned schedule does not hold.
    """

    kept: Choices
    seconds: Mapping[str, float]
    untuned_seconds: float
    tuned_seconds: float
    ratios: tuple[float, ...] = ()
    defaults: frozenset[str] = frozenset()


def check_variants(variants: Variants[Variant], default: Choices, tuned: Choices) -> NetworkVerdict:
    """Compare schedules in a network.

    Both give a schedule for each of its tasks, by the digest of the key. The verdict is about the
    tasks that the network runs. TimeIsOver is raised where the variants do.
    """
    untuned = variants.variant(default)
    candidate = variants.variant(tuned)
    by_default, by_tuned = (
        {digest: each[digest] for digest in each if digest in tuned}
        for each in variants.kernel_seconds((untuned, candidate))
    )
    slower = {digest for digest in by_tuned if by_tuned[digest] > by_default[digest]}
    kept = {digest: (default if digest in slower else tuned)[digest] for digest in by_tuned}
    if any(kept[digest] != tuned[digest] for digest in slower):
        candidate = variants.variant(kept)
    untuned_seconds, tuned_seconds = variants.whole_seconds((untuned, candidate))
    if tuned_seconds > untuned_seconds:  # a second opinion: the machine may have been disturbed
        untuned_seconds, tuned_seconds = variants.whole_seconds((untuned, candidate))
    ratios = variants.ratios
    if tuned_seconds > untuned_seconds or all(kept[digest] == default[digest] for digest in kept):
        kept = {digest: default[digest] for digest in by_tuned}
        tuned_seconds, slower, ratios = untuned_seconds, set(by_tuned), ()
    seconds = {digest: (by_default if digest in slower else by_tuned)[digest] for digest in kept}
    lost = frozenset(digest for digest in kept if kept[digest] != tuned[digest])
    return NetworkVerdict(kept, seconds, untuned_seconds, tuned_seconds, ratios, lost)
