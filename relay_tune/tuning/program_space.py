"""The space of a whole program's schedules, under all of its algorithms, as genomes.

The first choice is the algorithm. Under each one other choices count, whose names begin with it,
such as "winograd(tile=4).n1.unroll"; those of the other algorithms rest at their defaults, so that
a change of the algorithm alone leads to the default schedule under the new one.
"""

from __future__ import annotations

from relay_tune.building.work import work_of
from relay_tune.machine.machine import Machine
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.plan_space import Genes, PlanSpace
from search import Choice, Condition, Genome, Space

ALGORITHM = "algorithm"


class ProgramSpace:
    """The schedules of a program that may be tried.

    Attributes:
        works: the work of one run under each algorithm that the machine can run.
        default: the schedule with the best estimate.
        space: the genomes.
    """

    def __init__(self, plan: Plan, machine: Machine, threads: int) -> None:
        self._algorithms = plan.algorithms_on(machine)
        plans = [plan.with_algorithm(each) for each in self._algorithms]
        self.works = {each.algorithm: work_of(each) for each in plans}
        self._plans = {each.algorithm: PlanSpace(each, machine, threads) for each in plans}
        self.default = plan.default_schedule(machine, threads)
        choices = [Choice(ALGORITHM, tuple(map(str, self._algorithms)))]
        self._parts: dict[AppliedAlgorithm, tuple[int, int]] = {}
        for plan_space in self._plans.values():
            begin = len(choices)
            choices += _choices(plan_space)
            self._parts[plan_space.algorithm] = begin, len(choices)
        self.space = Space(tuple(choices), self._is_sensible)

    @property
    def is_trivial(self) -> bool:
        """Whether there is nothing to choose."""
        return self.space.size <= 1

    @property
    def defaults(self) -> list[Schedule]:
        """The schedule with the best estimate under each algorithm, the best of all first.

        Estimates of different algorithms are less sure than those of one: a wrong choice between
        the best ones is put right by the first that are measured.
        """
        others = sorted((space.default for space in self._plans.values()), key=self.cycles)
        return list(dict.fromkeys([self.default, *others]))

    def schedule(self, genome: Genome) -> Schedule:
        """The schedule that a genome stands for."""
        plan_space, genes = self._located(genome)
        return plan_space.schedule(genes)

    def genome(self, schedule: Schedule) -> Genome | None:
        """A genome of a schedule, or None if the space does not hold it."""
        if not self.describes(schedule):
            return None
        genes = self._plans[schedule.algorithm].genes(schedule)
        if genes is None:
            return None
        genome = [choice.idle for choice in self.space.choices]
        genome[0] = self._algorithms.index(schedule.algorithm)
        begin, end = self._parts[schedule.algorithm]
        genome[begin:end] = genes
        return tuple(genome) if tuple(genome) in self.space else None

    def describes(self, schedule: Schedule) -> bool:
        """Whether a schedule is one of this program, under any algorithm."""
        plan_space = self._plans.get(schedule.algorithm)
        return plan_space is not None and plan_space.describes(schedule)

    def features(self, schedule: Schedule) -> list[float]:
        """The description of a schedule that a cost model learns from; empty for foreign ones."""
        if not self.describes(schedule):
            return []
        return self._plans[schedule.algorithm].features(schedule)

    def cycles(self, schedule: Schedule) -> float:
        """The estimated cycles of one thread."""
        return self._plans[schedule.algorithm].cycles(schedule)

    def _located(self, genome: Genome) -> tuple[PlanSpace, Genes]:
        """The space of a genome's algorithm, and the genes that count there."""
        algorithm = self._algorithms[genome[0]]
        begin, end = self._parts[algorithm]
        return self._plans[algorithm], genome[begin:end]

    def _is_sensible(self, genome: Genome) -> bool:
        plan_space, genes = self._located(genome)
        return plan_space.is_sensible(genes)


def _choices(plan_space: PlanSpace) -> list[Choice]:
    condition = Condition(ALGORITHM, str(plan_space.algorithm))
    idle = plan_space.default_genes or (0,) * len(plan_space.names)
    return [
        Choice(f"{plan_space.algorithm}.{name}", values, condition, gene)
        for name, values, gene in zip(plan_space.names, plan_space.values, idle, strict=True)
    ]
