"""Results of a tuning run for one task."""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task after a run; times are seconds of one execution, None if nothing ran correctly.

    Attributes:
        title: the primitive in words.
        digest: of its key.
        weight: how often the model runs it.
        trials: candidates that the log holds.
        default_seconds: time of the default schedule.
        best_seconds: time of the best schedule.
        limit_seconds: what the machine can reach at most, None if not known.
        operations: arithmetic operations.
        nodes: the main node of each call in the model, by name, each once.
        reason: why no more candidates were measured; empty if the budget ended.
        holds: whether the best schedule is as fast in the network, so that it is used there; False
            where the default one stays, None where this run did not time the network.
    """

    title: str
    digest: str
    weight: int
    trials: int
    default_seconds: float | None
    best_seconds: float | None
    limit_seconds: float | None
    operations: int
    reason: str = ""
    nodes: tuple[str, ...] = ()
    holds: bool | None = None
