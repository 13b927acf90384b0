"""The choices of a plan: what may be searched of a program under one algorithm.

The nests that take most of the estimated time are searched together; the others keep their default
choice. A choice of nest 2 is named "n2.unroll". Different genes may mean one schedule: the tile
extent of the axis that runs along the lanes counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from relay_tune.machine.machine import Machine
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.estimate import Estimate
from relay_tune.schedule.features.program_features import features
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import Schedule
from relay_tune.schedule.space.default_choice import default_choices, with_joined
from relay_tune.schedule.space.space import NestSpace

Genes = tuple[int, ...]
"""One index for each choice of a plan."""

SEARCHED_SHARE = 0.03
"""Nests below this share of the program's estimated cycles keep their default."""

SEARCHED_NESTS = 3
"""So many of the others are searched, those with the most cycles."""

REMEMBERED = 1 << 12
"""Genes of nests of all plans whose choices are kept: more than a round of tuning asks for."""


class PlanSpace:
    """The schedules of a plan that may be tried.

    Attributes:
        algorithm: of the plan.
        default: the schedule with the best estimate.
        names: of the choices.
        values: the alternatives of each.
    """

    def __init__(self, plan: Plan, machine: Machine, threads: int) -> None:
        self.algorithm = plan.algorithm
        self._spaces = plan.spaces(machine, threads)
        self._defaults = default_choices(self._spaces)
        self._default_estimates = tuple(
            space.estimate(choice)
            for space, choice in zip(self._spaces, self._defaults, strict=True)
        )
        self._fixed_cycles = plan.fixed_cycles(machine)
        joined = {n for n, space in enumerate(self._spaces) if space.analysis.near.joined}
        self._searched = _searched_nests(self._default_estimates, joined)
        self._kept = set(range(len(self._spaces))) - {*self._searched, *joined}
        self.default = Schedule(self._defaults, plan.algorithm)
        spaces = [(position, self._spaces[position]) for position in self._searched]
        self.names = tuple(
            f"n{position}.{name}" for position, space in spaces for name in space.names
        )
        self.values = tuple(values for _, space in spaces for values in space.values)
        ends = [0]
        for _, space in spaces:
            ends.append(ends[-1] + len(space.names))
        self._parts = tuple(pairwise(ends))
        self.default_genes = self._encoded(self._defaults)

    def schedule(self, genes: Genes) -> Schedule:
        """The schedule that genes stand for."""
        choices = list(self._defaults)
        for position, (begin, end) in zip(self._searched, self._parts, strict=True):
            choices[position] = _choice(self._spaces[position], genes[begin:end])
        return Schedule(with_joined(self._spaces, choices), self.algorithm)

    def genes(self, schedule: Schedule) -> Genes | None:
        """Genes of a schedule that this space describes, or None if it is not to be searched."""
        if any(schedule.choices[position] != self._defaults[position] for position in self._kept):
            return None
        genes = self._encoded(schedule.choices)
        return genes if genes is not None and self.schedule(genes) == schedule else None

    def describes(self, schedule: Schedule) -> bool:
        """Whether a schedule belongs to the plan of this space."""
        same = schedule.algorithm == self.algorithm
        return same and len(schedule.choices) == len(self._spaces)

    def is_sensible(self, genes: Genes) -> bool:
        """Whether genes stand for a schedule that can be fast at all."""
        if genes == self.default_genes:
            return True
        parts = zip(self._searched, self._parts, strict=True)
        return all(_is_sensible(self._spaces[n], genes[begin:end]) for n, (begin, end) in parts)

    def features(self, schedule: Schedule) -> list[float]:
        """The description of a schedule of the plan that a cost model learns from."""
        estimates = self._estimates(schedule.choices)
        return features(self._spaces, schedule.choices, estimates, self._fixed_cycles)

    def cycles(self, schedule: Schedule) -> float:
        """The estimated cycles of one thread for a schedule of the plan."""
        cycles = sum(estimate.cycles for estimate in self._estimates(schedule.choices))
        return cycles + self._fixed_cycles

    def _estimates(self, choices: Sequence[TileChoice]) -> list[Estimate]:
        """The estimates of all nests; those of the nests that are not searched are at hand."""
        return [
            known if choice is default else space.estimate(choice)
            for space, choice, default, known in zip(
                self._spaces, choices, self._defaults, self._default_estimates, strict=True
            )
        ]

    def _encoded(self, choices: Sequence[TileChoice]) -> Genes | None:
        genes: list[int] = []
        for position in self._searched:
            part = _genes(self._spaces[position], choices[position])
            if part is None:
                return None
            genes += part
        return tuple(genes)


@remembered(REMEMBERED)
def _choice(space: NestSpace, genes: Genes) -> TileChoice:
    """Decode the genes of a nest."""
    values = [options[gene] for options, gene in zip(space.values, genes, strict=True)]
    return space.decode(dict(zip(space.names, values, strict=True)))


@remembered(REMEMBERED)
def _is_sensible(space: NestSpace, genes: Genes) -> bool:
    """Whether the genes of a nest stand for a choice that can be fast at all."""
    return space.is_sensible(_choice(space, genes))


def _searched_nests(estimates: Sequence[Estimate], joined: set[int]) -> tuple[int, ...]:
    """The nests worth searching, in the order of the program; `joined` ones follow others."""
    cycles = [estimate.cycles for estimate in estimates]
    worth = SEARCHED_SHARE * sum(cycles)
    heavy = [n for n, own in enumerate(cycles) if own > worth and n not in joined]
    heaviest = sorted(heavy, key=lambda nest: -cycles[nest])[:SEARCHED_NESTS]
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
            case "prefetch":
                wanted = [choice.prefetch]
            case _ if name.startswith("blocks"):
                wanted = [choice.blocks[int(name.removeprefix("blocks"))]]
            case _:
                position = int(name.removeprefix("tile"))
                is_free = position == choice.vector
                wanted = [
                    values[0] if is_free else min(choice.tile[position], axes[position].extent)
                ]
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
