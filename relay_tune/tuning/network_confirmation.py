"""The end of tuning: the winners must hold in the whole model, on one thread too."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.building.default_schedules import default_schedule
from relay_tune.codegen.compiler_pool import CompilerPool
from relay_tune.codegen.target import Target
from relay_tune.machine.machine import Machine
from relay_tune.runtime.threads import available_processors
from relay_tune.schedule.schedule import Schedule
from relay_tune.time_limit import TimeIsOver
from relay_tune.tuning.budget import Budget
from relay_tune.tuning.events import PhaseStarted, Progress
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.model_variants import ModelVariants, TunedModel
from relay_tune.tuning.network_check import NetworkVerdict, check_variants
from relay_tune.tuning.schedule_lookup import ScheduleLookup
from relay_tune.tuning.tasks import Task

COMPARED, NEARLY_AS_FAST = 8, 1.06
"""So many schedules of a kernel are compared in the network, if they take at most this share of the
time of the fastest one by themselves."""


def confirm_in_network(
    model: TunedModel,
    tasks: Sequence[Task],
    keeper: LogKeeper,
    target: Target,
    machine: Machine,
    budget: Budget,
    progress: Progress,
) -> NetworkVerdict:
    """Compare the best schedules of the log with the default ones in a model that can run.

    What holds is marked in the log, for the number of threads that was tuned for and, if there is
    time, for one. The result is about the former; TimeIsOver is raised where there was none for it.
    """
    primitives = model.primitives(tasks)
    with CompilerPool(target, available_processors()) as pool:
        verdicts: list[NetworkVerdict] = []
        counts = list(dict.fromkeys((keeper.scope.threads, 1)))
        for number, threads in enumerate(counts):
            progress(PhaseStarted("timing the whole network", number, len(counts)))
            before = budget.elapsed
            try:
                own = ModelVariants(model, primitives, pool, target, threads, budget.require_time)
                found = _confirm(own, tasks, keeper, target, machine, threads, budget)
            except TimeIsOver:
                if not verdicts:
                    raise
                break
            verdicts.append(found)
            if budget.left < budget.elapsed - before:
                break
    return verdicts[0]


def is_confirmed(tasks: Sequence[Task], keeper: LogKeeper) -> bool:
    """Whether the log has marks for all tasks."""
    counts = {keeper.scope.threads, 1}
    return all(counts <= {mark.scope.threads for mark in keeper.kept(task)} for task in tasks)


def _confirm(
    variants: ModelVariants,
    tasks: Sequence[Task],
    keeper: LogKeeper,
    target: Target,
    machine: Machine,
    threads: int,
    budget: Budget,
) -> NetworkVerdict:
    default = {
        task.key.digest: default_schedule(task.key.digest, task.plan, machine, threads)
        for task in tasks
    }
    records = [record for task in tasks for record in keeper.records(task)]
    lookup = ScheduleLookup(records, target, threads)
    fastest: dict[str, Sequence[Schedule]] = {}
    for task in tasks:
        found = lookup.fastest(task.key, task.plan, COMPARED, NEARLY_AS_FAST)
        fastest[task.key.digest] = found or [default[task.key.digest]]
    verdict = check_variants(variants, default, fastest, lambda: budget.left)
    for task in tasks:
        digest = task.key.digest
        if digest in verdict.kept:
            keeper.keep(task, verdict.kept[digest], verdict.seconds[digest], threads)
    return verdict
