"""Trials whose times and losses are computed: layers in a row, with conversions between types."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from relay_tune.quantization.precisions import (
    BFLOAT16,
    FLOAT32,
    INT7,
    INT8,
    Precisions,
    stored_alike,
)
from relay_tune.tuning.precision.choice import PrecisionSpace
from relay_tune.tuning.precision.search import Problem
from relay_tune.tuning.precision.trials import Measured

LEFT = {FLOAT32: 1.0, BFLOAT16: 0.55, INT8: 0.4, INT7: 0.25}
"""The part of a layer's time that a precision takes."""

LOST = {FLOAT32: 0.0, BFLOAT16: 0.2, INT8: 1.0, INT7: 1.6}
"""The part of the loss of integers."""


class SimulatedTrials:
    """A chain of layers of random sizes and losses; a seed gives the same ones."""

    def __init__(
        self,
        layers: int,
        seed: int = 0,
        interrupt_after: int | None = None,
        precisions: Sequence[str] = (INT8,),
    ) -> None:
        random = np.random.default_rng(seed)
        self.names = [f"layer{n}" for n in range(layers)]
        self.seconds = dict(zip(self.names, random.uniform(0.1, 1.0, layers), strict=True))
        self.alone = dict(zip(self.names, random.uniform(0.001, 0.01, layers), strict=True))
        self.conversion = 0.1
        self.excess = 1.0
        self.built: list[tuple[str, ...]] = []
        self.interrupt_after = interrupt_after
        self.now = 0.0
        self.precisions = precisions

    def clock(self) -> float:
        """Seconds, which builds take."""
        return self.now

    def simulated_loss(self, precisions: Precisions) -> float:
        return sqrt(sum((LOST[precisions[n]] * self.alone[n]) ** 2 for n in self.names))

    def built_loss(self, precisions: Precisions) -> float:
        """What roundings add is not simulated."""
        return self.excess * self.simulated_loss(precisions)

    def ratio(self, precisions: Precisions) -> float:
        forms = (stored_alike(precisions[name]) for name in self.names)
        kinds = [FLOAT32, *forms, FLOAT32]
        own = [LEFT[precisions[n]] * self.seconds[n] for n in self.names]
        changes = sum(one != other for one, other in zip(kinds, kinds[1:], strict=False))
        return (sum(own) + self.conversion * changes) / sum(self.seconds.values())

    def measured(self, choices: Sequence[Precisions], turns: int) -> list[Measured]:
        found = []
        for each in choices:
            if self.interrupt_after is not None and len(self.built) >= self.interrupt_after:
                raise KeyboardInterrupt
            self.built.append(tuple(each[name] for name in self.names))
            self.now += 1.0
            ratio = self.ratio(each)
            found.append(Measured(ratio, 1e-3 * ratio, self.built_loss(each), 1e-3))
        return found

    def problem(self, bound: float) -> Problem:
        total = sum(self.seconds.values())
        return Problem(
            PrecisionSpace.of_layers(self.names, self.precisions),
            list(zip(self.names, self.names[1:], strict=False)),
            {name: seconds / total for name, seconds in self.seconds.items()},
            self.alone,
            bound,
        )
