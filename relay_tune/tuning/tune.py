"""`tune`: find fast schedules for a model's kernels by measuring them on this machine.

result = tune(module, log="tuning.db", minutes=3)
print(result.default_model_seconds, "->", result.model_seconds)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache, partial
from os import PathLike

from relay_tune.arguments import function_argument, instance_of, path_argument
from relay_tune.building.chosen_passes import ChosenPasses
from relay_tune.building.default_schedules import remember
from relay_tune.building.input_sizes import InputSizes, input_sizes
from relay_tune.building.named_sizes import with_named_sizes
from relay_tune.building.program_form import fused_module, has_open_inputs
from relay_tune.building.size_points import SizePoint, dynamic_inputs, size_points
from relay_tune.codegen.target import Target, target_argument
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.ending_signals import ending_signals
from relay_tune.ir.module import Module
from relay_tune.machine.machine import Machine
from relay_tune.remembered import results_for_one_build
from relay_tune.runtime.measure_limits import best_known_limits
from relay_tune.runtime.processor_check import check_measurable
from relay_tune.runtime.target_machine import machine_of
from relay_tune.runtime.threads import thread_count
from relay_tune.schedule.accuracy import Accuracy, parse_accuracy
from relay_tune.time_limit import TimeIsOver
from relay_tune.transform.pipeline import Pipeline
from relay_tune.tuning.budget import Budget, make_budget
from relay_tune.tuning.event_messages import logged
from relay_tune.tuning.events import PhaseStarted, Progress, RunStarted, ignore
from relay_tune.tuning.finished_tasks import earlier_result
from relay_tune.tuning.known_limits import known_limits
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.model_variants import TunedModel
from relay_tune.tuning.network_confirmation import confirm_in_network, is_confirmed
from relay_tune.tuning.network_times import NetworkTimes
from relay_tune.tuning.options import TuningOptions
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.result import TuningResult
from relay_tune.tuning.run import TuningRun
from relay_tune.tuning.run_record import RunRecord
from relay_tune.tuning.runner import NativeRunner, Runner
from relay_tune.tuning.running_marks import RunningMarks
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.session import Session
from relay_tune.tuning.task_result import TaskResult
from relay_tune.tuning.task_state import TaskState, new_state
from relay_tune.tuning.tasks import Task, extract_tasks, network_bytes
from relay_tune.typing.infer import infer_types

__all__ = ["TuningResult", "tune", "tune_tasks"]

SETTLING = 0.5
"""Timing the whole network takes about so many times as long as planning its kernels did, at least,
besides what planning the others takes that the search had no time for."""


def tune(
    module: Module,
    *,
    log: str | PathLike[str] = "tuning.db",
    trials: int | None = None,
    minutes: float | None = None,
    target: str | Target = "native",
    threads: int | None = None,
    accuracy: str = "fast",
    seed: int = 0,
    progress: Progress | None = None,
    name: str = "",
    shapes: InputSizes | Sequence[InputSizes] = (),
    pipeline: Pipeline | str | None = None,
    verify: str | None = None,
) -> TuningResult:
    """Tune a model as the user gave it; every measurement is in the log at once.

    What the log holds for the model's kernels counts as measured. Ctrl-C ends the run early, with
    `interrupted` set in the result. So does SIGTERM; where the caller has no handler of its own for
    it, it ends the process once the run is in order.

    Args:
        module: the program, typed or not.
        log: the tuning log; it is created if it does not exist.
        trials: candidates in all, those in the log included; by default all there is time for.
        minutes: time to spend; by default 3.
        target: `native`, or another one whose kernels this machine can run, such as
            `x86_64-linux-gnu:haswell` on a newer processor.
        threads: how many threads the kernels run on; by default all processors of this process.
        accuracy: `exact` (as direct sums), `fast` (values reach no results that do not depend on
            them, but for tiles of Winograd convolutions) or `relaxed` (all algorithms).
        seed: of all random choices.
        progress: is called with each event (`relay_tune.tuning.events`).
        name: of the model, for reports about the log.
        shapes: of inputs with dynamic sizes: sizes by name, some of them ranges, between which
            kernels are tuned for some (`relay_tune.building.size_points`).
        pipeline: the passes that turn the module into kernels; as for `build`.
        verify: what is verified after each pass; as for `build`.

    Raises RelayError for an ill-typed model, InputError for a target, log, budget or seed that
    cannot be used, TuningError if nothing could be measured.
    """
    began = time.monotonic()
    chosen = target_argument(target)
    check_measurable(chosen)
    log = path_argument(log, "log", "Omit it for tuning.db.")
    count = thread_count(threads)
    given = input_sizes(shapes)
    passes = ChosenPasses(pipeline, verify)
    options = TuningOptions(
        trials, minutes, seed, name=_name(name), began=began, shapes=given, passes=passes
    )
    report = logged(function_argument(ignore if progress is None else progress, "progress"))
    with ending_signals():
        return _tuned(module, log, options, chosen, count, parse_accuracy(accuracy), report)


@results_for_one_build()
def _tuned(
    module: Module,
    log: str | PathLike[str],
    options: TuningOptions,
    target: Target,
    threads: int,
    accuracy: Accuracy,
    progress: Progress,
) -> TuningResult:
    """The result of a run for checked arguments."""
    budget = make_budget(None, options.minutes, 0, began=options.began)
    try:
        with budget.limited():
            typed = with_named_sizes(infer_types(module))
            points = _points(typed, options)
            fused = fused_module(typed, accuracy, target, options.passes)
            tasks = extract_tasks(fused, accuracy, points)
    except TimeIsOver:
        return _nothing_measured(budget)
    scope = TuningScope(target.key, threads, CODE_VERSION)
    marks = RunningMarks(log, scope)
    runner = NativeRunner(
        target,
        threads,
        options.seed,
        network_bytes=cache(lambda: network_bytes(tasks, target)),
        running=marks,
    )
    try:
        result = tune_tasks(
            tasks,
            runner,
            log=log,
            options=options,
            target=target,
            threads=threads,
            progress=progress,
        )
    finally:
        runner.close()
        marks.close()
    model = TunedModel(typed, fused, points)
    return _confirmed(result, model, tasks, log, scope, target, budget, progress)


def _confirmed(
    result: TuningResult,
    model: TunedModel,
    tasks: Sequence[Task],
    log: str | PathLike[str],
    scope: TuningScope,
    target: Target,
    budget: Budget,
    progress: Progress,
) -> TuningResult:
    """The result with the times of the whole network, where it can be run as one.

    Nothing is done where nothing new was measured and all winners are known to hold.
    """
    nothing = result.out_of_time and not result.measured
    if result.interrupted or nothing or not model.can_run:
        return result
    keeper = LogKeeper(log, scope)
    try:
        if not result.measured and is_confirmed(tasks, keeper):
            return result
        if result.measured and budget.left < result.network_seconds:
            return replace(result, out_of_time=True)
        with budget.limited():
            machine = _machine(keeper, target, progress)
            verdict = confirm_in_network(model, tasks, keeper, target, machine, budget, progress)
        times = NetworkTimes.of(verdict.untuned_seconds, verdict.tuned_seconds, verdict.ratios)
        if result.run is not None:
            keeper.note_results(result.run, {"network": asdict(times)})
    except KeyboardInterrupt:
        return replace(result, interrupted=True)
    except TimeIsOver:
        return replace(result, out_of_time=bool(result.measured))
    finally:
        keeper.close()
    holding = tuple(
        replace(task, holds=task.digest not in verdict.defaults) for task in result.tasks
    )
    return replace(result, tasks=holding, network=times)


def tune_tasks(
    tasks: Sequence[Task],
    runner: Runner,
    *,
    log: str | PathLike[str],
    options: TuningOptions,
    target: Target,
    threads: int,
    progress: Progress = ignore,
) -> TuningResult:
    """Tune tasks with a runner; see `tune`."""
    keeper = LogKeeper(log, TuningScope(target.key, threads, CODE_VERSION))
    try:
        return _run(tasks, runner, keeper, options, target, progress)
    finally:
        keeper.close()


def _run(
    tasks: Sequence[Task],
    runner: Runner,
    keeper: LogKeeper,
    options: TuningOptions,
    target: Target,
    progress: Progress,
) -> TuningResult:
    budget = make_budget(options.trials, options.minutes, len(tasks), began=options.began)
    about = RunRecord.of(options.name, keeper.scope, tasks).to_json()
    spent = {"trials": budget.trials, "seconds": budget.seconds, "seed": options.seed}
    number = keeper.begin_run({**about, **spent})
    ending = "failed"
    share = budget.trials / max(len(tasks), 1)
    try:
        result = _earlier_result(tasks, keeper, budget, share, progress)
        if result is None:
            with suppress(TimeIsOver), budget.limited():
                result = _searched(tasks, runner, keeper, budget, options, target, share, progress)
        result = _nothing_measured(budget) if result is None else result
        ending = "interrupted" if result.interrupted else "finished"
        return replace(result, run=number)
    except KeyboardInterrupt:
        ending = "interrupted"
        raise
    finally:
        keeper.end_run(number, ending)


def _searched(
    tasks: Sequence[Task],
    runner: Runner,
    keeper: LogKeeper,
    budget: Budget,
    options: TuningOptions,
    target: Target,
    share: float,
    progress: Progress,
) -> TuningResult:
    """Plan the tasks, and search as long as the budget lasts."""
    progress(PhaseStarted("planning", 0, len(tasks)))
    machine = _machine(keeper, target, progress)
    threads, began = keeper.scope.threads, budget.elapsed
    planned, states = _states(tasks, machine, threads, options.seed, budget, progress)
    planning = budget.elapsed - began
    unplanned = len(tasks) / max(1, len(planned)) - 1
    network_seconds = (SETTLING + unplanned) * planning
    budget.keep_final(len(states), network_seconds)
    session = Session(states, runner, keeper, budget, progress)
    result = TuningRun(session, options, share).run()
    _mark_trivial(planned, states, keeper, share)
    late = len(planned) < len(tasks) or result.out_of_time
    return replace(result, network_seconds=network_seconds, out_of_time=late)


def _nothing_measured(budget: Budget) -> TuningResult:
    """The result where the time was over before there was any."""
    return TuningResult((), measured=0, seconds=budget.elapsed, out_of_time=True)


def _name(name: str) -> str:
    """The name of a model; InputError where it is no text."""
    return instance_of(str, name, "name", "Omit it, or give a text such as resnet18.")


def _earlier_result(
    tasks: Sequence[Task], keeper: LogKeeper, budget: Budget, share: float, progress: Progress
) -> TuningResult | None:
    """Results of the tasks in earlier runs; None if one of them may go on.

    Nothing is planned for that, which makes a run with nothing to do a quick one.
    """
    found: list[TaskResult | None] = []
    for task in tasks:
        mark = keeper.finished(task)
        if mark is None or mark.share < share:
            return None
        found.append(earlier_result(task, mark, keeper.history(task)))
    results = tuple(result for result in found if result is not None)
    known = sum(result.trials for result in results)
    progress(RunStarted(len(results), known, budget.trials, budget.seconds))
    return TuningResult(results, measured=0, seconds=budget.elapsed)


def _mark_trivial(
    tasks: Sequence[Task], states: Sequence[TaskState], keeper: LogKeeper, share: float
) -> None:
    """The tasks without a choice came to their end, too."""
    searched = {state.task.key.digest for state in states}
    for task in tasks:
        if task.key.digest not in searched:
            keeper.finish(task, share, None)


def _machine(keeper: LogKeeper, target: Target, progress: Progress) -> Machine:
    """Estimate coefficients of this machine: from the log, or measured and kept there."""
    limits = known_limits(keeper, 1, partial(best_known_limits, target, 1), progress)
    return machine_of(target, limits, keeper.limits())


def _states(
    tasks: Sequence[Task],
    machine: Machine,
    threads: int,
    seed: int,
    budget: Budget,
    progress: Progress,
) -> tuple[Sequence[Task], list[TaskState]]:
    """The tasks that there is time to plan, and the states of those that leave a choice.

    The first tasks have most arithmetic. One of them is planned however little time there is.
    """
    states: list[TaskState] = []
    for number, task in enumerate(tasks):
        if number and not budget.may_plan:
            return tasks[:number], states
        space = ProgramSpace(task.plan, machine, threads)
        remember(task.key.digest, task.plan.accuracy, machine, threads, space.default)
        if not space.is_trivial:
            states.append(new_state(task, space, seed))
        progress(PhaseStarted("planning", number + 1, len(tasks)))
    return tasks, states


def _points(typed: Module, options: TuningOptions) -> tuple[SizePoint, ...]:
    """The sizes that kernels are tuned for; InputError where they are dynamic and not given."""
    if not options.shapes and has_open_inputs(typed):
        raise dynamic_inputs(typed, "Kernels are tuned")
    return size_points(typed, options.shapes)
