"""The verb `run`: tune, print what was reached, build and export."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from relay_tune.building.chosen_passes import ChosenPasses
from relay_tune.cli.exit_codes import FAILED, INTERRUPTED
from relay_tune.cli.model_file import load_argument, stem
from relay_tune.cli.native_form import require_kernels
from relay_tune.cli.options import build_options
from relay_tune.cli.output_file import require_library
from relay_tune.cli.progress import shown_progress
from relay_tune.cli.run_report import report_text
from relay_tune.cli.started import running_seconds
from relay_tune.cli.units import clock_text
from relay_tune.codegen.export import check_library_target
from relay_tune.codegen.target import parse_target
from relay_tune.errors import BuildError, TuningError
from relay_tune.ir.module import Module
from relay_tune.tuning.budget import DEFAULT_MINUTES, LATE_SECONDS
from relay_tune.tuning.events import PhaseStarted, Progress
from relay_tune.tuning.result import TuningResult
from relay_tune.tuning.tune import tune
from relay_tune.tuning.tuned_build import build

BUILDING_SHARE, MOST_BUILDING_SECONDS = 0.1, 10.0
"""Time reserved for building the library, as a share of the whole and at most."""


def run(arguments: argparse.Namespace) -> int:
    """Tune, print what was reached, build and export."""
    output = Path(arguments.output or f"{stem(arguments.model)}.so")
    require_library(output, arguments.model, arguments.log)
    if arguments.output is not None:  # better fail before the work than after
        check_library_target(parse_target(arguments.target).triple)
    module = load_argument(arguments)
    require_kernels(module, ChosenPasses(arguments.passes))
    library = reason = ""
    with shown_progress(sys.stderr if arguments.json else sys.stdout) as progress:
        result = _tuned(module, arguments, progress)
        if not result.interrupted:
            progress(PhaseStarted("building the library"))
            library, reason = _built(module, output, arguments)
    if result.interrupted:
        print(report_text(arguments, result))
        return INTERRUPTED
    if _measured_nothing(result):
        error = _nothing_measured(arguments, result, library)
        print(report_text(arguments, result, library, reason or error.message))
        raise error
    print(report_text(arguments, result, library, reason))
    return 0 if library else FAILED


def _measured_nothing(result: TuningResult) -> bool:
    return result.out_of_time and not result.measured


def _nothing_measured(
    arguments: argparse.Namespace, result: TuningResult, library: str
) -> TuningError:
    known = any(task.best_seconds is not None for task in result.tasks)
    schedules = "what the log has" if known else "default schedules"
    return TuningError(
        f"Nothing was measured: the time, {clock_text(_seconds(arguments))} minutes, was over "
        "before the first candidate was ready.",
        notes=(f"The library {library} has {schedules}.",) if library else (),
        remedy="Allow more --minutes, or wait until the machine has less other work.",
    )


def _seconds(arguments: argparse.Namespace) -> float:
    """How long the command may run."""
    return 60.0 * (DEFAULT_MINUTES if arguments.minutes is None else arguments.minutes)


def _tuning_seconds(arguments: argparse.Namespace) -> float:
    """Seconds from now on for tuning; what is kept of the time is for the library."""
    seconds = _seconds(arguments)
    kept = min(BUILDING_SHARE * seconds, MOST_BUILDING_SECONDS)
    return max(0.0, seconds - kept - running_seconds())


def _tuned(module: Module, arguments: argparse.Namespace, progress: Progress) -> TuningResult:
    return tune(
        module,
        log=arguments.log,
        trials=arguments.trials,
        minutes=_tuning_seconds(arguments) / 60.0,
        seed=arguments.seed,
        progress=progress,
        name=stem(arguments.model),
        **build_options(arguments),
    )


def _built(module: Module, output: Path, arguments: argparse.Namespace) -> tuple[str, str]:
    """The name of the library, or nothing and the reason why there is none."""
    try:
        check_library_target(parse_target(arguments.target).triple)
    except BuildError as error:
        if arguments.output is not None:
            raise
        print(f"no library was written: {error.render()}", file=sys.stderr)
        return "", "no library can be written for this target"
    library = _exported(module, output, arguments)
    late = running_seconds() - _seconds(arguments)
    if late > LATE_SECONDS:
        print(f"the library was ready {late:.0f} s after the time was over", file=sys.stderr)
    return library, ""


def _exported(module: Module, output: Path, arguments: argparse.Namespace) -> str:
    model = build(
        module,
        log=arguments.log,
        **build_options(arguments),
    )
    model.export(output)
    return str(output)
