"""Estimates of measured schedules under other coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from math import inf, log

import numpy as np

from relay_tune.machine.coefficients import FITTED, Coefficients
from relay_tune.machine.machine import Machine
from relay_tune.schedule.space.choice_cost import ChoiceCost
from relay_tune.tuning.fit.observations import Observation


def cost(observation: Observation, machine: Machine) -> float:
    """The estimated cycles of the busiest thread: what the search for default schedules compares.

    Nests that run in parallel take an equal share of each thread.
    """
    total = observation.plan.fixed_cycles(machine)
    for space, choice in observation.parts:
        is_shared = bool(choice.parallel or space.repeats)
        cycles = ChoiceCost(replace(space, machine=machine), choice).below(inf)
        total += cycles / (observation.threads if is_shared else 1)
    return total


class _Watched(Coefficients):
    """Coefficients that note which of them are read; each object differs from all others."""

    __slots__ = ("_reads",)

    def __init__(self, known: Coefficients) -> None:
        object.__setattr__(self, "_reads", set())
        super().__init__(**{each.name: getattr(known, each.name) for each in fields(known)})

    def __getattribute__(self, name: str) -> object:
        if name in _FITTED:
            object.__getattribute__(self, "_reads").add(name)
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @property
    def reads(self) -> frozenset[str]:
        """The names of those that were read so far."""
        return frozenset(object.__getattribute__(self, "_reads"))


_FITTED = frozenset(FITTED)


class Costs:
    """The logarithms of the costs of observations, for a machine with other coefficients."""

    def __init__(self, observations: Sequence[Observation], machine: Machine) -> None:
        self._observations = observations
        self._machine = machine

    def at(self, known: Coefficients, indices: Iterable[int] | None = None) -> np.ndarray:
        """The logarithms of the costs of the observations at some indices, by default of all."""
        machine = replace(self._machine, coefficients=known)
        chosen = range(len(self._observations)) if indices is None else indices
        return np.array([log(cost(self._observations[n], machine)) for n in chosen])

    def readers(self, known: Coefficients) -> dict[str, list[int]]:
        """For each coefficient the indices of the observations whose cost depends on it there."""
        found: dict[str, list[int]] = {name: [] for name in FITTED}
        for index, observation in enumerate(self._observations):
            watched = _Watched(known)
            cost(observation, replace(self._machine, coefficients=watched))
            for name in watched.reads:
                found[name].append(index)
        return found
