"""The space of a whole program's schedules, as genomes.

The nests that take most of the estimated time are searched together; the others keep their default
choice. A choice of nest 2 is a gene named "n2.unroll". Different genomes may mean one schedule: the
tile extent of the axis that runs along the lanes counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from relay_tune.schedule.analysis import Estimate
from relay_tune.schedule.apply import Plan
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.features import features
from relay_tune.schedule.machine import Machine
from relay_tune.schedule.schedule import Schedule
from relay_tune.schedule.space import NestSpace, default_choice
from search import Choice, Genome, Space

SEARCHED_SHARE = 0.03
"""Nests below this share of the program's estimated cycles keep their default."""

SEARCHED_NESTS = 3
REMEMBERED = 20_000


class ProgramSpace:
    """The schedules of a plan that may be tried.

    Attributes:
        default: the schedule with the best estimate.
        space: the genomes.
    """

    def __init__(self, plan: Plan, machine: Machine, threads: int) -> None:
        self._spaces = plan.spaces(machine, threads)
        self._defaults = tuple(default_choice(space) for space in self._spaces)
        self._default_estimates = tuple(
            space.estimate(choice)
            for space, choice in zip(self._spaces, self._defaults, strict=True)
        )
        self._searched = _searched_nests(self._default_estimates)
        self._decoded: dict[Genome, tuple[TileChoice, ...]] = {}
        self._sensible: dict[Genome, bool] = {}
        self._algorithm = plan.algorithm
        self.default = Schedule(self._defaults, plan.algorithm)
        self.space = Space(
            tuple(
                Choice(f"n{place}.{name}", values)
                for place in self._searched
                for name, values in zip(
                    self._spaces[place].names, self._spaces[place].values, strict=True
                )
            ),
            self._is_sensible,
        )
        ends = [0]
        for place in self._searched:
            ends.append(ends[-1] + len(self._spaces[place].names))
        self._parts = tuple(pairwise(ends))
        self._default_genome = self._encode(self._defaults)

    @property
    def is_trivial(self) -> bool:
        """Whether there is nothing to choose."""
        return self.space.size <= 1

    def schedule(self, genome: Genome) -> Schedule:
        """The schedule that a genome stands for."""
        return Schedule(self._choices(genome), self._algorithm)

    def genome(self, schedule: Schedule) -> Genome | None:
        """A genome of a schedule, or None if the space does not hold it."""
        if not self.describes(schedule):
            return None
        kept = set(range(len(self._spaces))) - set(self._searched)
        if any(schedule.choices[place] != self._defaults[place] for place in kept):
            return None
        genome = self._encode(schedule.choices)
        if genome is None or self.schedule(genome) != schedule or genome not in self.space:
            return None
        return genome

    def describes(self, schedule: Schedule) -> bool:
        """Whether a schedule belongs to the plan of this space, not to another algorithm."""
        same = schedule.algorithm == self._algorithm
        return same and len(schedule.choices) == len(self._spaces)

    def features(self, schedule: Schedule) -> list[float]:
        """The description of a schedule that a cost model learns from; empty for foreign ones."""
        if not self.describes(schedule):
            return []
        return features(self._spaces, schedule.choices, self._estimates(schedule.choices))

    def cycles(self, schedule: Schedule) -> float:
        """The estimated cycles of one thread."""
        return sum(estimate.cycles for estimate in self._estimates(schedule.choices))

    def _estimates(self, choices: Sequence[TileChoice]) -> list[Estimate]:
        """The estimates of all nests; those of the nests that are not searched are at hand."""
        return [
            known if choice is default else space.estimate(choice)
            for space, choice, default, known in zip(
                self._spaces, choices, self._defaults, self._default_estimates, strict=True
            )
        ]

    def _choices(self, genome: Genome) -> tuple[TileChoice, ...]:
        known = self._decoded.get(genome)
        if known is not None:
            return known
        choices = list(self._defaults)
        for place, (begin, end) in zip(self._searched, self._parts, strict=True):
            space = self._spaces[place]
            genes = genome[begin:end]
            values = [options[gene] for options, gene in zip(space.values, genes, strict=True)]
            choices[place] = space.decode(dict(zip(space.names, values, strict=True)))
        if len(self._decoded) >= REMEMBERED:
            self._decoded.clear()
            self._sensible.clear()
        self._decoded[genome] = tuple(choices)
        return self._decoded[genome]

    def _is_sensible(self, genome: Genome) -> bool:
        if genome == self._default_genome:
            return True
        known = self._sensible.get(genome)
        if known is None:
            choices = self._choices(genome)
            known = all(self._spaces[n].is_sensible(choices[n]) for n in self._searched)
            self._sensible[genome] = known
        return known

    def _encode(self, choices: Sequence[TileChoice]) -> Genome | None:
        genes: list[int] = []
        for place in self._searched:
            part = _genes(self._spaces[place], choices[place])
            if part is None:
                return None
            genes += part
        return tuple(genes)


def _searched_nests(estimates: Sequence[Estimate]) -> tuple[int, ...]:
    """The nests worth searching, in the order of the program."""
    cycles = [estimate.cycles for estimate in estimates]
    heavy = [n for n, own in enumerate(cycles) if own > SEARCHED_SHARE * sum(cycles)]
    heaviest = sorted(heavy, key=lambda place: -cycles[place])[:SEARCHED_NESTS]
    return tuple(sorted(heaviest))


def _genes(space: NestSpace, choice: TileChoice) -> list[int] | None:
    """The indices of the values that make up a choice, or None if a value is not there."""
    axes = space.analysis.nest.axes
    genes: list[int] = []
    for name, values in zip(space.names, space.values, strict=True):
        wanted: list[object]
        match name:
            case "vector":
                wanted = [(choice.vector, choice.lanes)]
            case "vectors":
                wanted = _vector_counts(space, choice, values)
            case "order":
                wanted = [choice.order]
            case "reduction_order":
                wanted = [choice.reduction_order]
            case "unroll":
                wanted = [choice.unroll]
            case _ if name.startswith("blocks"):
                wanted = [choice.blocks[int(name.removeprefix("blocks"))]]
            case _:
                place = int(name.removeprefix("tile"))
                is_free = place == choice.vector
                wanted = [values[0] if is_free else min(choice.tile[place], axes[place].extent)]
        index = next((values.index(value) for value in wanted if value in values), None)
        if index is None:
            return None
        genes.append(index)
    return genes


def _vector_counts(space: NestSpace, choice: TileChoice, values: Sequence[object]) -> list[object]:
    """The numbers of vectors that give the choice's tile along its vector axis."""
    if choice.vector < 0:
        return [values[0]]
    extent = space.analysis.nest.axes[choice.vector].extent
    tile = choice.tile[choice.vector]
    return [n for n in values if isinstance(n, int) and min(n * choice.lanes, extent) == tile]
