"""A model of dynamic sizes with several choices of schedules; it runs at each of some sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from relay_tune.building.programs import compile_program
from relay_tune.building.size_points import SizePoint, input_shapes
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.target import Target
from relay_tune.first_order.kinds import type_of
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.measuring.inputs import random_array
from relay_tune.runtime.native_session import load_functions
from relay_tune.runtime.program_profile import kernel_seconds
from relay_tune.runtime.program_trace import program_trace
from relay_tune.tuning.variants import Choices, Variants, chosen_from

TRACES, TRACED_RUNS = 2, 8
"""Traces of each variant at each size, and the runs of each."""


@dataclass(frozen=True, eq=False, slots=True)
class SizeVariant:
    """A compiled program, and the same in this process."""

    compiled: CompiledFunctions
    loaded: LoadedProgram


def takes_tensors(typed: Module) -> bool:
    """Whether all inputs of a typed module are tensors, of which random ones can be made."""
    return all(isinstance(type_of(param), TensorType) for param in typed.main.params)


class SizeVariants(Variants[SizeVariant]):
    """Variants of a model of dynamic sizes. A run of it is one run at each of some points."""

    def __init__(
        self,
        typed: Module,
        fused: Module,
        points: Sequence[SizePoint],
        target: Target,
        threads: int,
        require_time: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(require_time)
        self._fused = fused
        self._points = points
        self._target = target
        self._threads = threads
        random = np.random.default_rng(0)
        self._inputs = [_inputs(typed, point, random) for point in points]

    def variant(self, choices: Choices) -> SizeVariant:
        """The module built with these schedules, and default ones for all other kernels."""
        compiled = compile_program(
            self._fused,
            self._target,
            self._threads,
            chosen_from(choices),
            lambda line: self._require_time(),
            points=self._points,
        )
        functions = load_functions(compiled)
        return SizeVariant(compiled, LoadedProgram(compiled.program, functions, self._threads))

    def kernel_seconds(self, variants: Sequence[SizeVariant]) -> list[dict[str, float]]:
        """See `Variants.kernel_seconds`: from traces, on average over the points."""
        found: list[dict[str, list[float]]] = [{} for _ in variants]
        for _ in range(TRACES):
            for inputs in self._inputs:
                for variant, times in zip(variants, found, strict=True):
                    self._require_time()
                    trace = program_trace(variant.compiled, inputs, self._threads, TRACED_RUNS)
                    seconds = kernel_seconds(variant.compiled, trace)
                    for digest, own in seconds.items():
                        times.setdefault(digest, []).append(own)
        return [{digest: median(own) for digest, own in times.items()} for times in found]

    def _run(self, variant: SizeVariant) -> None:
        for inputs in self._inputs:
            variant.loaded(*inputs)


def _inputs(typed: Module, point: SizePoint, random: np.random.Generator) -> list[np.ndarray]:
    shapes = input_shapes(typed, point)
    found = []
    for param in typed.main.params:
        type_ = type_of(param)
        assert isinstance(type_, TensorType)  # as `takes_tensors` has seen
        found.append(random_array(TensorType(shapes[param.name], type_.dtype), random))
    return found
