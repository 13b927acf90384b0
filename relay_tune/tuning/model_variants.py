"""A model with several choices of schedules; it runs at each of some sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from statistics import median
from time import monotonic

import numpy as np

from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import planned, primitives_of
from relay_tune.building.program_form import is_network, kernel_functions
from relay_tune.building.programs import compile_program
from relay_tune.building.size_points import SizePoint, input_shapes
from relay_tune.codegen.compiler_pool import CompilerPool
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.target import Target
from relay_tune.ir.expr import Function
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.program.kinds import is_open_type, type_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.measuring.random_inputs import random_array
from relay_tune.runtime.native_session import load_functions
from relay_tune.runtime.program_profile import kernel_seconds
from relay_tune.runtime.program_trace import TracedProgram
from relay_tune.runtime.run_clock import run_clock
from relay_tune.schedule.plan import Plan
from relay_tune.tuning.tasks import Task
from relay_tune.tuning.variants import LEAST_RUNS, WHOLE_ROUNDS, Choices, Variants, chosen_from

LEAST_ROUNDS, MOST_ROUNDS = 5, 25
"""Turns of each variant at each size."""

TRACED_RUNS = 3
"""Runs in a turn, after one that finds the caches as the other variant left them."""

FIXED = SizePoint({}, True)
"""The only point of a model without dynamic sizes."""


@dataclass(frozen=True, eq=False, slots=True)
class TunedModel:
    """A model that was tuned.

    Attributes:
        typed: the typed module, with names for all sizes of its inputs.
        fused: the same after all passes.
        points: the sizes that it was tuned for, where some are dynamic.
    """

    typed: Module
    fused: Module
    points: Sequence[SizePoint] = ()

    @property
    def can_run(self) -> bool:
        """Whether random inputs are enough to run it, always in the same way."""
        types = [type_of(param) for param in self.typed.main.params]
        if not all(isinstance(type_, TensorType) for type_ in types):
            return False
        if self.points:
            return is_network(self.typed)
        return is_network(self.fused) and not any(is_open_type(type_) for type_ in types)

    def primitives(self, tasks: Sequence[Task]) -> dict[Function, Primitive]:
        """Primitives of its kernels, for any number of variants, with the plans of its tasks."""
        plans: dict[str, Plan | None] = {task.key.digest: task.plan for task in tasks}
        found = primitives_of(kernel_functions(self.fused), points=self.points)
        for function, primitive in found.items():
            if primitive.open is None:
                digest = primitive.key.digest
                if digest not in plans:
                    plans[digest] = planned(primitive).plan
                found[function] = replace(primitive, plan=plans[digest])
        return found

    def inputs(self) -> list[list[np.ndarray]]:
        """Random inputs for each point."""
        random = np.random.default_rng(0)
        return [self._inputs(point, random) for point in self.points or (FIXED,)]

    def _inputs(self, point: SizePoint, random: np.random.Generator) -> list[np.ndarray]:
        shapes = input_shapes(self.typed, point)
        types = {param.name: type_of(param) for param in self.typed.main.params}
        return [
            random_array(TensorType(shapes[name], type_.dtype), random)
            for name, type_ in types.items()
            if isinstance(type_, TensorType)  # as they all are where it can run
        ]


class ModelVariant:
    """A compiled model, and the same in this process, as it is and with kernels that note times."""

    def __init__(self, compiled: CompiledFunctions, threads: int) -> None:
        self.compiled = compiled
        self.loaded = LoadedProgram(compiled.program, load_functions(compiled), threads)
        self._threads = threads

    @cached_property
    def traced(self) -> TracedProgram:
        """The program whose kernels note when they run."""
        return TracedProgram(self.compiled, self._threads)


class ModelVariants(Variants[ModelVariant]):
    """Variants of a model. A run of one is one run at each of its points."""

    def __init__(
        self,
        model: TunedModel,
        primitives: Mapping[Function, Primitive],
        pool: CompilerPool,
        target: Target,
        threads: int,
        require_time: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(require_time, run_clock(threads).seconds)
        self._model = model
        self._primitives = primitives
        self._pool = pool
        self._target = target
        self._threads = threads
        self._inputs = model.inputs()

    def variant(self, choices: Choices) -> ModelVariant:
        """The module built with these schedules, and default ones for all other kernels."""
        compiled = compile_program(
            self._model.fused,
            self._target,
            self._threads,
            chosen_from(choices),
            lambda line: self._require_time(),
            points=self._model.points,
            primitives=self._primitives,
            pool=self._pool,
        )
        return ModelVariant(compiled, self._threads)

    def kernel_seconds(
        self, variants: Sequence[ModelVariant], seconds: float
    ) -> list[dict[str, float]]:
        """See `Variants.kernel_seconds`: from traces, on average over steps and points."""
        found: list[dict[str, list[float]]] = [{} for _ in variants]
        end = monotonic() + seconds
        for number in range(MOST_ROUNDS):
            if number >= LEAST_ROUNDS and monotonic() > end:
                break
            for inputs in self._inputs:
                for variant, times in zip(variants, found, strict=True):
                    self._require_time()
                    trace = variant.traced.trace(inputs, TRACED_RUNS, warmup=1)
                    for digest, own in kernel_seconds(variant.compiled, trace).items():
                        times.setdefault(digest, []).append(own)
        return [{digest: median(own) for digest, own in times.items()} for times in found]

    def least_seconds(self, variant: ModelVariant, count: int) -> float:
        """See `Variants.least_seconds`."""
        traced = count * LEAST_ROUNDS * (1 + TRACED_RUNS)
        return self.run_seconds(variant) * (traced + 2 * WHOLE_ROUNDS * (1 + LEAST_RUNS))

    def bytes(self, variant: ModelVariant) -> int:
        """See `Variants.bytes`: its constants, in the order that its kernels want."""
        return variant.compiled.constants.size

    def _run(self, variant: ModelVariant) -> None:
        for inputs in self._inputs:
            variant.loaded(*inputs)
