"""The tuned network beside the untuned one: where a kernel does not hold, its default stays.

Kernels are tuned by themselves. In the network other kernels have used the caches in between, and
a winner may lose. Both networks run in turn, step by step, so that each kernel is compared with its
default one where it will run; then they run as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import median
from time import perf_counter

import numpy as np

from relay_tune.building.build import compile_fused
from relay_tune.building.network import is_static, network_of
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import planned, primitives_of
from relay_tune.building.program_form import is_network
from relay_tune.codegen.compiler_pool import CompilerPool
from relay_tune.codegen.target import Target
from relay_tune.ir.expr import Function
from relay_tune.ir.known_type import known_type
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.runtime.measuring.inputs import random_array
from relay_tune.runtime.native_program import NativeProgram
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.tasks import Task

ROUNDS = 5
"""Turns of the steps of each network."""

WHOLE_ROUNDS = 9
"""Turns of each network as a whole; so many give an interval."""

STEP_RUNS = 4
"""Runs of all steps in a turn; the first finds the caches as the other network left them."""

TURN_SECONDS = 0.04
MOST_RUNS = 100

Choices = Mapping[str, Schedule]
"""A schedule for the primitive of each digest."""


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


def runs_as_network(module: Module) -> bool:
    """Whether a fused module is a network of operators with static shapes."""
    main = module.main
    types = [known_type(param) for param in main.params]
    if not all(isinstance(type_, TensorType) and is_static(type_) for type_ in types):
        return False
    return is_network(module)


def network_primitives(module: Module, tasks: Sequence[Task]) -> dict[Function, Primitive]:
    """The primitives of a fused module, for any number of checks, with the plans of its tasks."""
    plans: dict[str, Plan | None] = {task.key.digest: task.plan for task in tasks}
    found = primitives_of(run.function for run in network_of(module).region.runs)
    for primitive in found.values():
        if primitive.key.digest not in plans:
            plans[primitive.key.digest] = planned(primitive).plan
    return {f: replace(p, plan=plans[p.key.digest]) for f, p in found.items()}


def check_network(
    module: Module,
    primitives: Mapping[Function, Primitive],
    pool: CompilerPool,
    target: Target,
    threads: int,
    default: Choices,
    tuned: Choices,
    require_time: Callable[[], None] = lambda: None,
) -> NetworkVerdict:
    """Compare schedules in the network of a fused module whose shapes are static.

    Both give a schedule for each of its tasks, by the digest of the key; `pool` compiles them. The
    verdict is about the tasks that the network runs. `require_time` is called between all steps,
    and may raise what ends the comparison.
    """
    networks = _Networks(module, primitives, pool, target, threads, require_time)
    untuned = networks.program(default)
    candidate = networks.program(tuned)
    by_default, by_tuned = (
        {digest: each[digest] for digest in each if digest in tuned}
        for each in networks.step_seconds((untuned, candidate))
    )
    slower = {digest for digest in by_tuned if by_tuned[digest] > by_default[digest]}
    kept = {digest: (default if digest in slower else tuned)[digest] for digest in by_tuned}
    if any(kept[digest] != tuned[digest] for digest in slower):
        candidate = networks.program(kept)
    untuned_seconds, tuned_seconds = networks.whole_seconds((untuned, candidate))
    if tuned_seconds > untuned_seconds:  # a second opinion: the machine may have been disturbed
        untuned_seconds, tuned_seconds = networks.whole_seconds((untuned, candidate))
    ratios = networks.ratios
    if tuned_seconds > untuned_seconds or all(kept[digest] == default[digest] for digest in kept):
        kept = {digest: default[digest] for digest in by_tuned}
        tuned_seconds, slower, ratios = untuned_seconds, set(by_tuned), ()
    seconds = {digest: (by_default if digest in slower else by_tuned)[digest] for digest in kept}
    lost = frozenset(digest for digest in kept if kept[digest] != tuned[digest])
    return NetworkVerdict(kept, seconds, untuned_seconds, tuned_seconds, ratios, lost)


class _Networks:
    """Programs of one module with one set of inputs.

    Attributes:
        ratios: the time of the first program by that of the second in each turn of `whole_seconds`.
    """

    def __init__(
        self,
        module: Module,
        primitives: Mapping[Function, Primitive],
        pool: CompilerPool,
        target: Target,
        threads: int,
        require_time: Callable[[], None],
    ) -> None:
        self._require_time = require_time
        self._module = module
        self._primitives = primitives
        self._pool = pool
        self._target = target
        self._threads = threads
        self._inputs: list[np.ndarray] = []
        self.ratios: tuple[float, ...] = ()

    def program(self, choices: Choices) -> NativeProgram:
        """The module built with these schedules."""

        def choose(key: PrimitiveKey, plan: Plan) -> Schedule | None:
            return choices.get(key.digest)

        compiled = compile_fused(
            self._module,
            self._target,
            self._threads,
            choose,
            report=lambda line: self._require_time(),
            primitives=self._primitives,
            pool=self._pool,
        )
        if not self._inputs:
            random = np.random.default_rng(0)
            self._inputs = [random_array(type_, random) for type_ in compiled.inputs.values()]
        return NativeProgram(compiled)

    def step_seconds(self, programs: Sequence[NativeProgram]) -> list[dict[str, float]]:
        """For each program, the seconds of one run of each primitive, on average over its steps."""
        found: list[list[list[list[float]]]] = [[] for _ in programs]
        for _ in range(ROUNDS):
            for program, times in zip(programs, found, strict=True):
                self._require_time()
                turn = program.step_seconds(self._inputs, self._threads, STEP_RUNS)
                times.append([runs[1:] for runs in turn])
        return [_by_digest(program, times) for program, times in zip(programs, found, strict=True)]

    def whole_seconds(self, programs: Sequence[NativeProgram]) -> list[float]:
        """The median seconds of a run of each program."""
        times: list[list[list[float]]] = [[] for _ in programs]
        for _ in range(WHOLE_ROUNDS):
            for program, own in zip(programs, times, strict=True):
                self._require_time()
                own.append(self._turn(program))
        turns = ([median(turn) for turn in own] for own in times)
        self.ratios = tuple(first / second for first, second in zip(*turns, strict=True))
        return [median(chain.from_iterable(own)) for own in times]

    def _turn(self, program: NativeProgram) -> list[float]:
        program.run(self._inputs, self._threads)
        end = perf_counter() + TURN_SECONDS
        times: list[float] = []
        while not times or (perf_counter() < end and len(times) < MOST_RUNS):
            start = perf_counter()
            program.run(self._inputs, self._threads)
            times.append(perf_counter() - start)
        return times


def _by_digest(program: NativeProgram, rounds: list[list[list[float]]]) -> dict[str, float]:
    """The mean over the steps of each digest of the median of their times."""
    found: dict[str, list[float]] = {}
    for place, digest in enumerate(program.step_digests):
        times = [seconds for steps in rounds for seconds in steps[place]]
        found.setdefault(digest, []).append(median(times))
    return {digest: sum(own) / len(own) for digest, own in found.items()}
