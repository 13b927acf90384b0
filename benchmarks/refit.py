"""Are coefficients that were lost found again in a tuning log, and are networks as fast with them?

    python -m benchmarks.refit log tuning.db [--measurements 2000] [--networks mlp,resnet18]
    python -m benchmarks.refit choices tuning.db [--seed 0] [--networks ..]
    python -m benchmarks.refit networks tuning.db [--seed 0] [--networks ..] [--rounds 15]

`log` measures schedules of the kernels of networks on one thread: those that the estimate chooses
under coefficients that are off by up to a factor of two, neighbours of these, and random ones.
Called again with the same log, it goes on. `choices` replaces the coefficients by random ones
(x 0.5 to 2), fits them to the log as `tune fit` does, and says for how many kernels of the networks
random and refitted coefficients choose other schedules than today's, how much slower these are by
the log, as far as it has both, and how much slower today's estimate takes them to be. `networks`
runs whole untuned networks with the three in turns.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import exp, inf, log
from statistics import geometric_mean, median

import numpy as np

import logs
from relay_tune.building.build import build as build_model
from relay_tune.building.default_schedules import DefaultSchedules
from relay_tune.building.program_form import fused_module
from relay_tune.codegen.target import Target, native_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.ir.types import TensorType
from relay_tune.machine.coefficients import FITTED, nearest_possible
from relay_tune.machine.machine import Machine
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.measure_limits import machine_limits
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.schedule import Schedule
from relay_tune.schedule.space.choice_cost import ChoiceCost
from relay_tune.tuning.fit.fit import Fit, TooLittle, fit_coefficients
from relay_tune.tuning.fit.observations import logged_observations
from relay_tune.tuning.known_limits import known_limits
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.runner import NativeRunner
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.tasks import Task, extract_tasks, network_bytes
from relay_tune.typing.infer import infer_types
from relay_tune.zoo.catalogue import build
from search.sampling import random_genomes

NETWORKS = "nature_dqn,squeezenet1_1,dcgan,mlp,lstm,mobilenet_v2,resnet18"

OFF = 2.0
"""The largest factor of a random coefficient."""

MACHINES = 8
"""Random coefficients whose choices are measured."""

CHOSEN, NEAR = 0.5, 0.8
"""The shares of a kernel's schedules that some coefficients choose, and with their neighbours."""


@dataclass(frozen=True, slots=True)
class Named:
    """A kernel of a network.

    Attributes:
        task: the kernel.
        network_bytes: what one run of the network touches.
    """

    task: Task
    network_bytes: int


def with_random_coefficients(machine: Machine, seed: int) -> Machine:
    """The machine with each coefficient times a random factor."""
    rng = random.Random(seed)
    known = machine.coefficients
    factors = {name: exp(rng.uniform(-log(OFF), log(OFF))) for name in FITTED}
    changed = {
        name: nearest_possible(name, getattr(known, name) * factor)
        for name, factor in factors.items()
    }
    return replace(machine, coefficients=known.changed(changed))


def kernels_of(networks: Sequence[str], target: Target) -> list[Named]:
    """The kernels of networks, each once."""
    found: dict[str, Named] = {}
    for name in networks:
        tasks = extract_tasks(fused_module(infer_types(build(name))))
        size = network_bytes(tasks, target)
        for task in tasks:
            found.setdefault(task.key.digest, Named(task, size))
    return list(found.values())


def candidates(space: ProgramSpace, task: Task, machine: Machine, count: int) -> list[Schedule]:
    """Schedules of a kernel: what some coefficients choose, neighbours of that, and random ones."""
    rng = random.Random(task.key.digest)
    found = dict.fromkeys(space.defaults[:4])
    for seed in range(MACHINES):
        if len(found) < CHOSEN * count:
            other = with_random_coefficients(machine, 1000 + seed)
            found[task.plan.default_schedule(other, 1)] = None
    genomes = [genome for genome in map(space.genome, found) if genome is not None]
    for genome in genomes * 4:
        changed = list(genome)
        for place in rng.sample(
            range(1, len(changed)), min(rng.choice((1, 1, 2, 3)), len(changed))
        ):
            changed[place] = rng.randrange(len(space.space.choices[place].values))
        neighbour = space.space.normal(tuple(changed))
        if len(found) < NEAR * count and space.space.valid(neighbour):
            found[space.schedule(neighbour)] = None
    for genome in random_genomes(space.space, count, rng):
        if len(found) < count:
            found[space.schedule(genome)] = None
    return list(found)


def measure(path: str, networks: Sequence[str], wanted: int) -> None:
    """Measure schedules of all kernels until the log has so many measurements."""
    target = native_target()
    keeper = LogKeeper(path, TuningScope(target.key, 1, CODE_VERSION))
    machine = machine_of(target, known_limits(keeper, 1, partial(machine_limits, 1), print))
    kernels = kernels_of(networks, target)
    count, current = -(-wanted // len(kernels)) + 2, [0]
    runner = NativeRunner(target, 1, 0, network_bytes=lambda: current[0])
    done = sum(len(keeper.history(each.task)) for each in kernels)
    try:
        for each in kernels:
            if done >= wanted:
                break
            current[0] = each.network_bytes
            space = ProgramSpace(each.task.plan, machine, 1)
            keeper.describe(each.task, space.works)
            known = {record.schedule for record in keeper.history(each.task)}
            found = candidates(space, each.task, machine, count)
            todo = [schedule for schedule in found if schedule.to_json() not in known]
            drafts = [runner.draft(each.task, schedule) for schedule in todo]
            best: float | None = None
            for prepared in runner.prepare(each.task, drafts, best):
                result = runner.measure(each.task, prepared, best)
                features = space.features(prepared.schedule)
                keeper.append(each.task, prepared.schedule, result, features)
                best = min(result.seconds or inf, best or inf)
                best = None if best == inf else best
            done += len(todo)
            print(f"{done:5} {each.task.title}", flush=True)
    finally:
        runner.close()
        keeper.close()


def refitted(path: str, seed: int) -> tuple[Machine, Machine, Machine, Fit]:
    """The machine as it is, with random coefficients, and with these refitted; and the fit."""
    target = native_target()
    with logs.open_log(path, create=False, readonly=True) as opened:
        limits = MachineLimits.from_entries(opened.limits(target.key), 1)
        today = machine_of(target, limits)
        lost = with_random_coefficients(today, seed)
        skipped: Counter[str] = Counter()
        began = time.monotonic()
        found = logged_observations(opened, target.key, CODE_VERSION, lost, skipped)
        fit = fit_coefficients(found, lost)
    if isinstance(fit, TooLittle):
        raise SystemExit(str(fit))
    print(f"{fit.measurements} measurements of {fit.kernels} kernels, seed {seed}:", end=" ")
    print(f"fitted in {time.monotonic() - began:.0f} s; not used: {dict(skipped)}")
    for name, each in (("random", fit.quality_before), ("fitted", fit.quality_after)):
        print(f"  held out, {name}: chosen / best {each.chosen:.3f}", end=", ")
        print(f"rank correlation {each.correlation:.3f}", flush=True)
    return today, lost, replace(lost, coefficients=fit.after), fit


def estimated(task: Task, schedule: Schedule, machine: Machine) -> float:
    """The cycles of a schedule, as the search for default schedules compares them."""
    plan = task.plan.with_algorithm(schedule.algorithm)
    parts = zip(plan.spaces(machine, 1), schedule.choices, strict=True)
    return plan.fixed_cycles(machine) + sum(ChoiceCost(*part).below(inf) for part in parts)


def compare_choices(path: str, networks: Sequence[str], seed: int) -> None:
    """Print how the choices of random and refitted coefficients differ from today's."""
    target = native_target()
    today, *others, _ = refitted(path, seed)
    with logs.open_log(path, create=False, readonly=True) as opened:
        times = {
            (record.workload, record.schedule): record.seconds
            for record in opened.history(target=target.key, code_version=CODE_VERSION)
            if record.status is logs.Status.OK and record.seconds is not None
        }
    for name in networks:
        tasks = extract_tasks(fused_module(infer_types(build(name))))
        usual = [task.plan.default_schedule(today, 1) for task in tasks]
        for kind, machine in zip(("random", "fitted"), others, strict=True):
            found = [task.plan.default_schedule(machine, 1) for task in tasks]
            _print_difference(name, kind, tasks, usual, found, today, times)


def _print_difference(
    name: str,
    kind: str,
    tasks: Sequence[Task],
    usual: Sequence[Schedule],
    found: Sequence[Schedule],
    machine: Machine,
    times: Mapping[tuple[str, str], float],
) -> None:
    """A line: how many schedules differ, measured and estimated times by those of the usual ones.

    All of a network's kernels count in the estimated times, those with both times in the others.
    """
    changed = sum(one != other for one, other in zip(usual, found, strict=True))
    both, sums, cycles = 0, [0.0, 0.0], [0.0, 0.0]
    for task, one, other in zip(tasks, usual, found, strict=True):
        known = [times.get((task.key.digest, each.to_json())) for each in (one, other)]
        for place, each in enumerate((one, other)):
            cycles[place] += task.weight * estimated(task, each, machine)
        if None not in known:
            both += one != other
            sums = [sums[n] + task.weight * (known[n] or 0.0) for n in (0, 1)]
    measured = f"{sums[1] / sums[0]:.3f}" if sums[0] else "-"
    print(
        f"{name:14} {kind}: {changed:2} of {len(tasks):2} schedules differ; by the log {measured} "
        f"({both} of them measured), by today's estimate {cycles[1] / cycles[0]:.3f}",
        flush=True,
    )


def run_networks(path: str, networks: Sequence[str], seed: int, rounds: int) -> None:
    """Time whole networks with the three machines' default schedules, in turns."""
    today, lost, fitted, _ = refitted(path, seed)
    ratios: dict[str, list[float]] = {"random": [], "fitted": []}
    for name in networks:
        calls = [_call(name, machine) for machine in (today, lost, fitted)]
        seconds = _in_turns(calls, rounds)
        for place, kind in enumerate(ratios, start=1):
            pairs = zip(seconds[place], seconds[0], strict=True)
            ratios[kind].append(median(own / usual for own, usual in pairs))
        found = ", ".join(f"{kind} {values[-1]:.3f}" for kind, values in ratios.items())
        print(f"{name:14} {median(seconds[0]) * 1e3:.3f} ms today; {found}", flush=True)
    for kind, values in ratios.items():
        print(f"{kind}: geometric mean {geometric_mean(values):.3f}, worst {max(values):.3f}")


def _call(name: str, machine: Machine) -> Callable[[], object]:
    """A call of an untuned network on random inputs, for one thread of a machine."""
    defaults = DefaultSchedules(machine, 1, Accuracy.FAST, lambda _digest: True)
    model = build_model(
        build(name),
        target=native_target(),
        threads=1,
        schedules=lambda key, plan: defaults.of(key.digest, plan),
        defaults=defaults,
    )
    rng, values = np.random.default_rng(0), []
    for type_ in model.inputs.values():
        assert isinstance(type_, TensorType)
        sizes = [size for size in type_.shape if isinstance(size, int)]
        integer = type_.dtype.startswith(("int", "uint"))
        values.append((np.ones(sizes) if integer else rng.random(sizes)).astype(type_.dtype))
    return lambda: model(*values)


def _in_turns(calls: Sequence[Callable[[], object]], rounds: int) -> list[list[float]]:
    """The seconds of each call, one after the other, so many rounds after two to warm up."""
    seconds: list[list[float]] = [[] for _ in calls]
    for turn in range(rounds + 2):
        for place, call in enumerate(calls):
            call()
            began = time.perf_counter()
            call()
            if turn > 1:
                seconds[place].append(time.perf_counter() - began)
    return seconds


def main() -> None:
    """Do one of the three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["log", "choices", "networks"])
    parser.add_argument("log")
    parser.add_argument("--networks", default=NETWORKS)
    parser.add_argument("--measurements", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    networks = given.networks.split(",")
    match given.part:
        case "log":
            measure(given.log, networks, given.measurements)
        case "choices":
            compare_choices(given.log, networks, given.seed)
        case "networks":
            run_networks(given.log, networks, given.seed, given.rounds)


if __name__ == "__main__":
    main()
