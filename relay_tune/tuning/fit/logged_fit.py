"""Fitting coefficients to a tuning log, and keeping them there."""

from __future__ import annotations

from collections import Counter

import logs
from relay_tune.codegen.target import Target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.target_machine import machine_of
from relay_tune.tuning.fit.fit import Fit, TooLittle, fit_coefficients
from relay_tune.tuning.fit.observations import logged_observations


@dataclass(frozen=True, slots=True)
class LoggedFit:
    """A fit to a log.

    Attributes:
        fit: the fit; or why there is none.
        skipped: why measurements were not used, and how many.
    """

    fit: Fit | TooLittle
    skipped: Counter[str]


def fit_to_log(log: logs.TuningLog, target: Target) -> LoggedFit:
    """Fit a target's coefficients to a log, and keep them there if they choose better."""
    logged = log.limits(target.key)
    machine = machine_of(target, MachineLimits.from_entries(logged, 1), logged)
    skipped: Counter[str] = Counter()
    observations = logged_observations(log, target.key, CODE_VERSION, machine, skipped)
    fit = fit_coefficients(observations, machine)
    if isinstance(fit, Fit) and fit.is_better:
        log.put_limits(target.key, fit.after.entries())
    return LoggedFit(fit, skipped)
