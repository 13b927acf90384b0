"""The tuned network beside the untuned one: where a kernel does not hold, its default stays.

Kernels are tuned by themselves. In the network other kernels have used the caches in between, and
a winner may lose. So the network is built with all winners, with all second ones, and so on; these
and the untuned one run in turn, and of each kernel the schedule is kept that is the fastest where
it will run. A kernel also changes what the next ones find in the caches, so the network of these
schedules and that of all winners run as a whole, and the faster one is kept. Then it and the
untuned one run as a whole, for a statement of runs that have chosen nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf
from statistics import median
from typing import Generic

from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.measuring.task_memory import held_bytes
from relay_tune.schedule.schedule import Schedule
from relay_tune.time_limit import TimeIsOver
from relay_tune.tuning.variants import Choices, Variant, Variants

WORTHWHILE = 0.004
"""By such a share schedules have to be faster than the default ones: less is noise."""

ENOUGH_LEFT = 0.6
"""While more than this share of the time is left, further schedules are built and compared."""

TIMED_SHARE, MOST_TIMED_SECONDS = 0.15, 15.0
"""The share of the time in which they run in turns, and how long that is at most."""


@dataclass(frozen=True, slots=True)
class NetworkVerdict:
    """Outcome of the tuned schedules.

    Attributes:
        kept: the schedule of each primitive: the tuned one where it holds, else the default one.
        seconds: one run of each primitive under it in the network.
        untuned_seconds: one run of the whole network with default schedules.
        tuned_seconds: and with those that are kept.
        ratios: the former by the latter, turn by turn; none where all default schedules stay.
        defaults: the digests of the primitives of which no tuned schedule holds.
    """

    kept: Choices
    seconds: Mapping[str, float]
    untuned_seconds: float
    tuned_seconds: float
    ratios: tuple[float, ...] = ()
    defaults: frozenset[str] = frozenset()


def check_variants(
    variants: Variants[Variant],
    default: Choices,
    fastest: Mapping[str, Sequence[Schedule]],
    left: Callable[[], float] = lambda: inf,
) -> NetworkVerdict:
    """Choose schedules in a network, and compare it with the untuned one.

    Args:
        variants: of the network.
        default: a schedule for each of its tasks, by the digest of the key.
        fastest: others, those first that are the fastest by themselves; one at least.
        left: seconds that this may take from now on.

    The verdict is about the tasks that the network runs. Its times are taken after all has been
    chosen, so that no schedule counts as faster for having been lucky. TimeIsOver is raised where
    the variants do.
    """
    by_default, *by_candidates = _timed(variants, default, fastest, left)
    kept: dict[str, Schedule] = {}
    seconds: dict[str, float] = {}
    options = [by_default, *by_candidates]
    for digest in [each for each in fastest if each in by_default.seconds]:
        kept[digest], seconds[digest] = _fastest(digest, options, default[digest])
    untuned = by_default.variant
    same = (each.variant for each in options if kept.items() <= each.choices.items())
    candidate = next(same, None) or variants.variant({**default, **kept})
    for winners in by_candidates[:1]:
        if winners.variant is candidate or left() < 2 * variants.least_seconds(untuned, 0):
            continue  # the statement comes first
        if _is_faster(variants, winners.variant, candidate):
            candidate = winners.variant
            kept = {digest: winners.choices[digest] for digest in kept}
            seconds = {digest: winners.seconds[digest] for digest in kept}
    untuned_seconds, tuned_seconds = variants.whole_seconds((untuned, candidate))
    if _is_no_gain(untuned_seconds, tuned_seconds):
        with suppress(TimeIsOver):  # a second opinion: the machine may have been disturbed
            untuned_seconds, tuned_seconds = variants.whole_seconds((untuned, candidate))
    ratios = variants.ratios
    is_default = all(kept[digest] == default[digest] for digest in kept)
    if is_default or _is_no_gain(untuned_seconds, tuned_seconds):
        kept = {digest: default[digest] for digest in kept}
        seconds = {digest: by_default.seconds[digest] for digest in kept}
        tuned_seconds, ratios = untuned_seconds, ()
    lost = frozenset(digest for digest in kept if kept[digest] not in fastest[digest])
    return NetworkVerdict(kept, seconds, untuned_seconds, tuned_seconds, ratios, lost)


def _is_faster(variants: Variants[Variant], one: Variant, other: Variant) -> bool:
    """Whether one network is clearly faster than another as a whole; not if there is no time."""
    with suppress(TimeIsOver):
        return not _is_no_gain(*variants.whole_seconds((other, one)))
    return False


def _is_no_gain(before: float, after: float) -> bool:
    """Whether a time is not clearly below another one."""
    return after > (1 - WORTHWHILE) * before


@dataclass(frozen=True, eq=False, slots=True)
class _Timed(Generic[Variant]):
    """A variant, its schedules, and the seconds of its kernels."""

    variant: Variant
    choices: Choices
    seconds: Mapping[str, float]


def _timed(
    variants: Variants[Variant],
    default: Choices,
    fastest: Mapping[str, Sequence[Schedule]],
    left: Callable[[], float],
) -> list[_Timed[Variant]]:
    """The untuned network, that of the fastest schedules, of the next ones, and so on.

    After the first two there are more only where much of the time is left, with one more all runs
    still fit into it, and memory has room.
    """
    began = left()
    choices: list[Choices] = [default]
    built = [variants.variant(default)]
    building = began - left() if began < inf else 0.0
    for rank in range(max(map(len, fastest.values()), default=0)):
        if rank and len(built) * variants.bytes(built[-1]) > held_bytes():
            break
        if rank and left() < max(
            ENOUGH_LEFT * began,
            variants.least_seconds(built[0], len(built) + 1) + 2 * building,
        ):
            break
        own = {digest: each[rank if rank < len(each) else 0] for digest, each in fastest.items()}
        choices.append({**default, **own})
        built.append(variants.variant(choices[-1]))
    times = variants.kernel_seconds(built, min(TIMED_SHARE * left(), MOST_TIMED_SECONDS))
    return [_Timed(*each) for each in zip(built, choices, times, strict=True)]


def _fastest(
    digest: str, timed: Sequence[_Timed[Variant]], default: Schedule
) -> tuple[Schedule, float]:
    """The fastest schedule of a kernel, and its seconds; the default one if none is clearly so."""
    found: dict[Schedule, list[float]] = {}
    for each in timed:
        if digest in each.seconds:
            found.setdefault(each.choices[digest], []).append(each.seconds[digest])
    seconds = {schedule: median(own) for schedule, own in found.items()}
    best = min(seconds, key=seconds.__getitem__)
    if seconds[best] > (1 - WORTHWHILE) * seconds[default]:
        best = default
    return best, seconds[best]
