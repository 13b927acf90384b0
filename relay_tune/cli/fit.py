"""The verb `fit`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from relay_tune.cli.log_file import opened
from relay_tune.codegen.target import parse_target
from relay_tune.machine.coefficients import FITTED
from relay_tune.runtime.describe import counted
from relay_tune.tuning.fit.fit import Fit, TooLittle
from relay_tune.tuning.fit.logged_fit import LoggedFit, fit_to_log
from relay_tune.tuning.fit.quality import Quality

STAYING = "The coefficients stay as they were."

CHANGED = 0.02
"""Smaller changes of a coefficient are not worth a line."""


def run(arguments: argparse.Namespace) -> int:
    """Fit, keep what is better, and say so."""
    target = parse_target(arguments.target)
    with opened(arguments.log, readonly=False) as log:
        found = fit_to_log(log, target)
    if arguments.json:
        print(json.dumps(_fields(found, target.key), indent=2))
    else:
        print(_text(found, target.key, arguments.log))
    return 0


def _text(found: LoggedFit, target: str, log: str) -> str:
    fit = found.fit
    lines = [
        f"{counted(fit.measurements, 'measurement')} of {counted(fit.kernels, 'kernel')} "
        f"on {target}",
        *(f"  {count} not used: {why}" for why, count in found.skipped.most_common()),
    ]
    if isinstance(fit, TooLittle):
        return "\n".join((*lines, str(fit), STAYING))
    lines += [
        f"on {counted(fit.quality_before.kernels, 'kernel')} that were held out:",
        _line("as they were", fit.quality_before),
        _line("fitted", fit.quality_after),
    ]
    if not fit.is_better:
        return "\n".join((*lines, STAYING))
    return "\n".join(
        (*lines, *_changes(fit), f"Builds and runs with {log} use the fitted coefficients.")
    )


def _line(name: str, quality: Quality) -> str:
    return (
        f"  {name:12}  chosen / best {quality.chosen:.3f}  "
        f"rank correlation {quality.correlation:.3f}"
    )


def _changes(fit: Fit) -> list[str]:
    """The coefficients that are others now."""
    pairs = ((name, getattr(fit.before, name), getattr(fit.after, name)) for name in FITTED)
    return [
        f"  {name}: {before:.4g} -> {after:.4g}"
        for name, before, after in pairs
        if abs(after / before - 1) > CHANGED
    ]


def _fields(found: LoggedFit, target: str) -> dict[str, object]:
    fit = found.fit
    about = {
        "target": target,
        "measurements": fit.measurements,
        "kernels": fit.kernels,
        "not_used": dict(found.skipped),
    }
    if isinstance(fit, TooLittle):
        return {**about, "kept": False}
    return {
        **about,
        "held_out": {"before": asdict(fit.quality_before), "after": asdict(fit.quality_after)},
        "kept": fit.is_better,
        "coefficients": {name: getattr(fit.best, name) for name in FITTED},
    }
