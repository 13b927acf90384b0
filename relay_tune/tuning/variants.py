"""One network with several choices of schedules, timed in turns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from statistics import median
from time import perf_counter
from typing import Generic, TypeVar

from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import Schedule

WHOLE_ROUNDS = 15
"""Turns of each network as a whole; so many give an interval."""

TURN_SECONDS = 0.04
LEAST_RUNS, MOST_RUNS = 1, 100
"""Of a turn, beside the first one, which is not counted."""

Choices = Mapping[str, Schedule]
"""A schedule for the primitive of each digest."""

Variant = TypeVar("Variant")


class Variants(ABC, Generic[Variant]):
    """The variants of one network, which run on the same inputs.

    Attributes:
        ratios: the time of the first variant by that of the second in each turn of
            `whole_seconds`.
    """

    def __init__(
        self, require_time: Callable[[], None], seconds: Callable[[], float] = perf_counter
    ) -> None:
        """`require_time` is called between all steps, and may raise what ends the comparison.

        Runs are timed by `seconds`.
        """
        self._require_time = require_time
        self._seconds = seconds
        self.ratios: tuple[float, ...] = ()

    @abstractmethod
    def variant(self, choices: Choices) -> Variant:
        """The network built with these schedules."""

    @abstractmethod
    def kernel_seconds(self, variants: Sequence[Variant], seconds: float) -> list[dict[str, float]]:
        """For each variant, the seconds of one run of each primitive by its digest.

        They run in turns, as often as there is time for in about so many `seconds`.
        """

    @abstractmethod
    def least_seconds(self, variant: Variant, count: int) -> float:
        """Least cost to compare the kernels of so many variants like this one.

        The comparison of two of them as a whole is included.
        """

    @abstractmethod
    def bytes(self, variant: Variant) -> int:
        """The memory that a variant takes for itself."""

    @abstractmethod
    def _run(self, variant: Variant) -> None:
        """Run a variant once."""

    def run_seconds(self, variant: Variant) -> float:
        """The seconds of one run of a variant, which has run before."""
        self._run(variant)
        return self._timed(variant)

    def whole_seconds(self, variants: Sequence[Variant]) -> list[float]:
        """The median seconds of a run of each variant."""
        times: list[list[list[float]]] = [[] for _ in variants]
        for _ in range(WHOLE_ROUNDS):
            for variant, own in zip(variants, times, strict=True):
                self._require_time()
                own.append(self._turn(variant))
        turns = ([median(turn) for turn in own] for own in times)
        self.ratios = tuple(first / second for first, second in zip(*turns, strict=True))
        return [median(chain.from_iterable(own)) for own in times]

    def _turn(self, variant: Variant) -> list[float]:
        self._run(variant)
        end = perf_counter() + TURN_SECONDS
        times: list[float] = []
        while len(times) < LEAST_RUNS or (perf_counter() < end and len(times) < MOST_RUNS):
            times.append(self._timed(variant))
        return times

    def _timed(self, variant: Variant) -> float:
        start = self._seconds()
        self._run(variant)
        return self._seconds() - start


def chosen_from(choices: Choices) -> Callable[[PrimitiveKey, Plan], Schedule | None]:
    """Return the lookup that gives a build these schedules."""

    def choose(key: PrimitiveKey, plan: Plan) -> Schedule | None:
        return choices.get(key.digest)

    return choose
