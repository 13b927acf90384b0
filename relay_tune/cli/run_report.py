"""The final report of `tune run`, for people and for scripts."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

from relay_tune.cli.options import dynamic_shapes_of
from relay_tune.cli.run_table import kernel_rows, kernel_table
from relay_tune.cli.units import clock_text, time_text
from relay_tune.codegen.export import header_of
from relay_tune.runtime.describe import counted
from relay_tune.tuning.network_times import NetworkTimes
from relay_tune.tuning.result import TuningResult


def report_text(
    arguments: argparse.Namespace, result: TuningResult, library: str = "", reason: str = ""
) -> str:
    """A table of the kernels and a few lines, or JSON with `--json`.

    `library` is the file that was written; where there is none, or nothing was measured for it,
    `reason` says why.
    """
    if arguments.json:
        return json.dumps(_fields(arguments, result, library, reason), indent=2)
    known = any(task.best_seconds is not None for task in result.tasks)
    lines = [kernel_table(result.tasks)] if known else []
    measured = counted(result.measured, "candidate")
    lines.append(f"measured {measured} in {clock_text(result.seconds)} minutes")
    if known:
        lines.append(_kernels_text(result))
    if result.network is not None:
        lines.append(_network_text(result.network, arguments))
    if result.interrupted:
        lines.append(f"interrupted; the log {arguments.log} has all that was measured")
    if library:
        lines.append(f"{library}, {header_of(Path(library))}")
    return "\n".join(lines)


def _kernels_text(result: TuningResult) -> str:
    """The times of the kernels by themselves; those that have none are left out, and why."""
    timed = replace(result, tasks=result.timed)
    before, after = timed.default_model_seconds, timed.model_seconds
    times = f"untuned {time_text(before)}, tuned {time_text(after)}"
    others = [task for task in result.tasks if task not in timed.tasks]
    if not others:
        return f"the kernels by themselves: {times}"
    why = "the log says what became of their candidates"
    if any(task.trials == 0 for task in others):
        why = "the budget ended before their turn, allow more --minutes or --trials"
    shown = times if timed.tasks else "none has a time with its default schedule"
    return (
        f"{len(timed.tasks)} of {counted(len(result.tasks), 'kernel')} by themselves: {shown}; "
        f"the others were not timed: {why}"
    )


def _network_text(times: NetworkTimes, arguments: argparse.Namespace) -> str:
    """The outcome for the whole network; a gain only where the turns show one."""
    what = "the whole network"
    if dynamic_shapes_of(arguments):
        what += ", once at each size"
    if times.interval is None:
        return f"{what}: {time_text(times.untuned)}, its default schedules stay"
    low, high = times.interval
    gain = f"{times.ratio:.2f} times as fast ({low:.2f} to {high:.2f})"
    if not times.is_gain:
        gain = f"no gain that can be told ({low:.2f} to {high:.2f} times as fast)"
    whole = f"untuned {time_text(times.untuned)}, tuned {time_text(times.tuned)}"
    return f"{what}, timed in turns: {whole}, {gain}"


def _fields(
    arguments: argparse.Namespace, result: TuningResult, library: str, reason: str
) -> dict[str, object]:
    return {
        "model": arguments.model,
        "log": arguments.log,
        "library": library or None,
        "header": str(header_of(Path(library))) if library else None,
        "reason": reason or None,
        "interrupted": result.interrupted,
        "out_of_time": result.out_of_time,
        "measured": result.measured,
        "outcomes": dict(result.outcomes),
        "seconds": result.seconds,
        "untuned_seconds": result.default_model_seconds,
        "tuned_seconds": result.model_seconds,
        "network": None if result.network is None else asdict(result.network),
        "tasks": [row.fields() for row in kernel_rows(result.tasks)],
    }
