"""The machine's limits for a tuning run: from the log, or measured and kept there."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.tuning.events import Progress, RatesDisturbed
from relay_tune.tuning.log_keeper import LogKeeper


def known_limits(
    keeper: LogKeeper, threads: int, measure: Callable[[], MachineLimits], progress: Progress
) -> MachineLimits:
    """The limits of so many threads.

    Those of the log come first, so that all runs know the same machine. Where some of its rates did
    not repeat when they were measured, they are measured again, and the higher ones stay;
    `progress` is told if that was in vain.
    """
    known = MachineLimits.from_entries(keeper.limits(), threads)
    if known is not None and not known.disturbed:
        return known
    limits = measured_again(keeper, threads, measure)
    if limits.disturbed:
        progress(RatesDisturbed(limits.disturbed))
    return limits


def measured_again(
    keeper: LogKeeper, threads: int, measure: Callable[[], MachineLimits]
) -> MachineLimits:
    """The limits as they are measured now; the higher rates of these and the log's stay there."""
    found = measure()
    known = MachineLimits.from_entries(keeper.limits(), threads)
    limits = found if known is None else found.joined(known)
    keeper.put_limits(limits.entries())
    return limits
