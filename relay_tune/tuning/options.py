"""Options of a tuning run."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

from relay_tune.building.chosen_passes import STANDARD_PASSES, ChosenPasses
from relay_tune.building.input_sizes import KnownSizes
from relay_tune.errors import InputError
from relay_tune.quick_dataclass import dataclass

SEEDS = 1 << 31


@dataclass(frozen=True, slots=True)
class TuningOptions:
    """The choices of a run.

    Attributes:
        trials: candidates in all, those that the log already holds included; None for 64 a task.
        minutes: time to spend; None for 3.
        seed: of all random choices; InputError unless it is from 0 to 2**31 - 1.
        batch: candidates of one task that are compiled together.
        name: of the network, for the log.
        began: when the run began (`time.monotonic`); None for when its tasks are known.
        shapes: sizes of inputs with dynamic sizes, between which kernels are tuned.
        passes: what turns a module into kernels.
    """

    trials: int | None = None
    minutes: float | None = None
    seed: int = 0
    batch: int = 8
    name: str = ""
    began: float | None = None
    shapes: Sequence[KnownSizes] = ()
    passes: ChosenPasses = STANDARD_PASSES

    def __post_init__(self) -> None:
        if not isinstance(self.seed, Integral) or not 0 <= self.seed < SEEDS:
            raise InputError(
                f"seed is {self.seed!r}, but must be a whole number from 0 to {SEEDS - 1}.",
                remedy="Omit it for 0.",
            )
