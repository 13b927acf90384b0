"""The choices of a network, built for this machine and timed in turns with float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from itertools import chain
from math import sqrt

import numpy as np

from relay_tune.building.build import build
from relay_tune.codegen.target import Target
from relay_tune.ir.module import Module
from relay_tune.quantization.calibrated import Calibrated
from relay_tune.quantization.loss import mean_loss
from relay_tune.quantization.precisions import FLOAT32, Precisions
from relay_tune.quantization.programs import results
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.model import Model
from relay_tune.runtime.run_clock import run_clock
from relay_tune.tuning.precision.trials import Measured
from relay_tune.tuning.tuned_build import BuildSchedules
from relay_tune.tuning.turns import Turns, time_in_turns

TURN_SECONDS = 0.04

REFERENCE = "float32"

QUICK = 0.1
"""The share of calls that other work disturbs least. A median moves with that work."""


@dataclass(frozen=True, slots=True)
class Builder:
    """State shared by all builds, so that equal kernels are planned and compiled once.

    Attributes:
        target: this machine.
        threads: of the programs.
        schedules: gives the schedule of a kernel.
    """

    target: Target
    threads: int
    schedules: BuildSchedules

    def __call__(self, module: Module) -> Model:
        """The native form of a module."""
        return build(
            module,
            target=self.target,
            threads=self.threads,
            schedules=self.schedules,
            defaults=self.schedules.defaults,
        )


@dataclass(slots=True)
class NativeTrials:
    """See `Trials`. Builds share kernels while the results of builds are kept.

    Attributes:
        calibrated: the network.
        builder: makes programs.
    """

    calibrated: Calibrated
    builder: Builder
    _losses: dict[frozenset[tuple[str, str]], float] = field(default_factory=dict)
    _reference: list[Model] = field(default_factory=list)

    def simulated_loss(self, precisions: Precisions) -> float:
        """See `Trials.simulated_loss`."""
        chosen = _chosen(precisions)
        key = frozenset(chosen.items())
        if key not in self._losses:
            self._losses[key] = self.calibrated.loss(chosen)
        return self._losses[key]

    def measured(self, choices: Sequence[Precisions], turns: int) -> list[Measured]:
        """See `Trials.measured`."""
        if not self._reference:
            self._reference.append(self.builder(self.calibrated.network))
        models = [self.builder(self.module(each)) for each in choices]
        losses = list(map(self._loss, models))
        sample = self.calibrated.judge.samples[0]
        named = {str(number): model for number, model in enumerate(models)}
        named[REFERENCE] = self._reference[0]
        calls = {name: partial(model.run, dict(sample)) for name, model in named.items()}
        clock = run_clock(self.builder.threads).seconds
        times = time_in_turns(calls, turns, TURN_SECONDS, clock)
        return [_measured(times, str(number), loss) for number, loss in enumerate(losses)]

    def module(self, precisions: Precisions) -> Module:
        """The network under a choice."""
        chosen = _chosen(precisions)
        return self.calibrated.steps(chosen)["realize"] if chosen else self.calibrated.network

    def _loss(self, model: Model) -> float:
        judge = self.calibrated.judge
        found = [results(model, sample) for sample in judge.samples]
        return mean_loss(judge.loss, judge.expected, found)


def _chosen(precisions: Precisions) -> dict[str, str]:
    """The layers that are not in float32."""
    return {layer: each for layer, each in precisions.items() if each != FLOAT32}


def _measured(times: Turns, name: str, loss: float) -> Measured:
    own, reference = (list(map(_undisturbed, times[each])) for each in (name, REFERENCE))
    ratios = [one / other for one, other in zip(own, reference, strict=True)]
    seconds, whole = (_undisturbed(list(chain(*times[each]))) for each in (name, REFERENCE))
    ratio = seconds / whole
    return Measured(ratio, seconds, loss, whole, _noise(ratios))


def _undisturbed(times: Sequence[float]) -> float:
    """Time of an undisturbed call: one of ten calls is faster."""
    return float(np.quantile(times, QUICK))


def _noise(ratios: Sequence[float]) -> float:
    """The deviation of the median of turns, from the half of them in the middle."""
    low, high = np.quantile(ratios, (0.25, 0.75))
    return float(high - low) / sqrt(len(ratios))
