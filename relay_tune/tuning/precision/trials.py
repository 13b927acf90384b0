"""Measuring of choices of precisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from relay_tune.quantization.precisions import Precisions
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """A choice that was built.

    Attributes:
        ratio: its time as a part of that of float32, in turns of both.
        seconds: of a call that other work did not disturb.
        loss: of its outputs, natively.
        reference_seconds: of such a call of float32.
        noise: how far the ratio may be off (a deviation).
    """

    ratio: float
    seconds: float
    loss: float
    reference_seconds: float
    noise: float = 0.0


class Trials(Protocol):
    """A network whose choices can be tried."""

    def simulated_loss(self, precisions: Precisions) -> float:
        """The loss of a choice without a build, but for roundings."""

    def measured(self, choices: Sequence[Precisions], turns: int) -> list[Measured]:
        """Choices that are built, and timed in so many turns with each other and float32."""
