"""A network of fixed sizes with several choices of schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median

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
from relay_tune.runtime.measuring.inputs import random_array
from relay_tune.runtime.native_program import NativeProgram
from relay_tune.schedule.plan import Plan
from relay_tune.tuning.tasks import Task
from relay_tune.tuning.variants import Choices, Variants, chosen_from

ROUNDS = 5
"""Turns of the steps of each network."""

STEP_RUNS = 4
"""Runs of all steps in a turn; the first finds the caches as the other network left them."""


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


class NetworkVariants(Variants[NativeProgram]):
    """Variants of a fused module whose shapes are static; their kernels are timed one by one."""

    def __init__(
        self,
        module: Module,
        primitives: Mapping[Function, Primitive],
        pool: CompilerPool,
        target: Target,
        threads: int,
        require_time: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(require_time)
        self._module = module
        self._primitives = primitives
        self._pool = pool
        self._target = target
        self._threads = threads
        self._inputs: list[np.ndarray] = []

    def variant(self, choices: Choices) -> NativeProgram:
        """The module built with these schedules, compiled by the pool."""
        compiled = compile_fused(
            self._module,
            self._target,
            self._threads,
            chosen_from(choices),
            report=lambda line: self._require_time(),
            primitives=self._primitives,
            pool=self._pool,
        )
        if not self._inputs:
            random = np.random.default_rng(0)
            self._inputs = [random_array(type_, random) for type_ in compiled.inputs.values()]
        return NativeProgram(compiled)

    def kernel_seconds(self, variants: Sequence[NativeProgram]) -> list[dict[str, float]]:
        """See `Variants.kernel_seconds`: on average over the steps of each primitive."""
        found: list[list[list[list[float]]]] = [[] for _ in variants]
        for _ in range(ROUNDS):
            for variant, times in zip(variants, found, strict=True):
                self._require_time()
                turn = variant.step_seconds(self._inputs, self._threads, STEP_RUNS)
                times.append([runs[1:] for runs in turn])
        return [_by_digest(variant, times) for variant, times in zip(variants, found, strict=True)]

    def _run(self, variant: NativeProgram) -> None:
        variant.run(self._inputs, self._threads)


def _by_digest(program: NativeProgram, rounds: list[list[list[float]]]) -> dict[str, float]:
    """The mean over the steps of each digest of the median of their times."""
    found: dict[str, list[float]] = {}
    for place, digest in enumerate(program.step_digests):
        times = [seconds for steps in rounds for seconds in steps[place]]
        found.setdefault(digest, []).append(median(times))
    return {digest: sum(own) / len(own) for digest, own in found.items()}
