"""What can be chosen about a tuning run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TuningOptions:
    """The choices of a run.

    Attributes:
        trials: candidates in all, those that the log already holds included; None for 64 a task.
        minutes: time to spend; None for 3.
        seed: of all random choices.
        batch: candidates of one task that are compiled together.
    """

    trials: int | None = None
    minutes: float | None = None
    seed: int = 0
    batch: int = 8
