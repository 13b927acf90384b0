"""A program with its nests, before any choice: which algorithms and spaces there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import field, replace
from math import inf, prod

from relay_tune.errors import InputError
from relay_tune.machine.machine import Machine
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy, Exactness, is_allowed, least_accuracy
from relay_tune.schedule.nests.constant_stages import fold_constant_stages
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.nominal_nest import nominal_nest
from relay_tune.schedule.planned_steps import PlannedStep, planned_steps
from relay_tune.schedule.rewrites.algorithm import DIRECT, Algorithm, AppliedAlgorithm, Rewrite
from relay_tune.schedule.rewrites.table import ALGORITHMS
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule, algorithm_of
from relay_tune.schedule.space.cycle_bound import least_cycles
from relay_tune.schedule.space.default_choice import default_choices
from relay_tune.schedule.space.group_spaces import group_spaces, waiting_cycles
from relay_tune.schedule.space.open_strides import with_few_addresses
from relay_tune.schedule.space.same_packing import with_columns, with_packing
from relay_tune.schedule.space.space import NestSpace, nest_space
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import UndecidedSizeError, is_symbolic
from relay_tune.tensor.tensor import ProcedureOutput


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """A program with its nests under one algorithm, before any choice.

    Attributes:
        program: the program; every output is a tensor of its own.
        steps: nests, groups of nests and procedures in the order in which they run.
        algorithm: where the stages of the program come from.
        source: the program as it is written, its constants folded.
        accuracy: which algorithms may be chosen.
        packing: the schedule as which constants are packed; None if that is free.
        known: the algorithms that there are.
        _made: the plans of the program under other algorithms, for any accuracy and packing.
    """

    program: TensorProgram
    steps: tuple[PlannedStep, ...]
    algorithm: AppliedAlgorithm
    source: TensorProgram
    accuracy: Accuracy = Accuracy.FAST
    packing: Schedule | None = None
    known: Sequence[Algorithm] = ALGORITHMS
    _made: dict[AppliedAlgorithm, Plan] = field(default_factory=dict, repr=False)
    _others: dict[AppliedAlgorithm, Plan] = field(default_factory=dict, repr=False)
    _spaces: dict[tuple[Machine, int], tuple[NestSpace, ...]] = field(default_factory=dict)
    _algorithms: list[AppliedAlgorithm] = field(default_factory=list)
    _defaults: dict[tuple[Machine, int], tuple[float, Schedule]] = field(default_factory=dict)

    @property
    def nests(self) -> tuple[Nest, ...]:
        """What leaves choices: nests by themselves, and those of groups on one block.

        Where sizes are open, they are those of the example.
        """
        return tuple(nominal_nest(nest) for nest, _ in self._repeated)

    @property
    def repeats(self) -> tuple[int, ...]:
        """For each nest how often a group runs it, 0 if it runs by itself."""
        return tuple(times for _, times in self._repeated)

    @property
    def _repeated(self) -> list[tuple[Nest, int]]:
        found: list[tuple[Nest, int]] = []
        for step in self.steps:
            if isinstance(step, RowBlocks):
                found += [(nest, step.blocks) for nest in step.nests]
            elif isinstance(step, Nest):
                found.append((step, 0))
        return found

    @property
    def algorithms(self) -> tuple[AppliedAlgorithm, ...]:
        """The algorithms that the program can be planned under, with the plan's accuracy.

        The direct one comes first, those of several rewrites last.
        """
        if not self._algorithms:
            new = [DIRECT]
            while new:
                self._algorithms.extend(new)
                new = [found for before in new for found in self._offers_after(before)]
        return tuple(each for each in self._algorithms if self._keeps_packing(each))

    def _keeps_packing(self, algorithm: AppliedAlgorithm) -> bool:
        """Whether constants can be packed as the plan's packing has them."""
        if self.packing is None or algorithm == self.packing.algorithm:
            return True
        if self.packing.algorithm != DIRECT or algorithm == DIRECT:
            return False
        return algorithm.packing(self.packing.choices) == self.packing.choices

    def _offers_after(self, before: AppliedAlgorithm) -> Iterator[AppliedAlgorithm]:
        """The algorithms of one rewrite more that are worth a look."""
        for each in self.known:
            if before.can_be_followed_by(each) and self._allows(each):
                offered: list[AppliedAlgorithm] = []
                with suppress(UndecidedSizeError):  # dynamic sizes leave this one out
                    plan = self.with_algorithm(before)
                    for parameters in each.offers(plan.program, plan.ungrouped, self._asked):
                        found = AppliedAlgorithm((Rewrite(each, parameters),))
                        offered += [before + found] if self.allows(found) else []
                yield from offered

    def most_saving(self, machine: Machine) -> float:
        """The largest factor by which rewriting lowers the cost of the program as it is written.

        Found without a plan under any other algorithm.
        """
        known = [e for e in self.known if e.rewritten and self._allows(e) and e.needs(machine)]
        try:
            found = [each.saving for each in known if self._is_offered(each)]
        except UndecidedSizeError:
            return inf
        return max([1.0, *found]) * prod(each.saving for each in known if each.follows)

    @property
    def _asked(self) -> Accuracy:
        """The accuracy by which algorithms choose what they offer."""
        is_strict = self.source.is_decisive and self.accuracy is Accuracy.FAST
        return Accuracy.EXACT if is_strict else self.accuracy

    def _is_offered(self, algorithm: Algorithm) -> bool:
        direct = self.with_algorithm(DIRECT)
        offers = algorithm.offers(direct.program, direct.ungrouped, self._asked)
        return next(iter(offers), None) is not None

    def allows(self, algorithm: AppliedAlgorithm) -> bool:
        """Whether an algorithm may be chosen, whatever the program looks like."""
        return all(self._allows(each.algorithm, each.exactness) for each in algorithm.rewrites)

    def _allows(self, algorithm: Algorithm, exactness: Exactness | None = None) -> bool:
        """Whether the accuracy allows an algorithm, or the program asks for what it rounds.

        `exactness` is that of its parameters, None the best there is. An exact plan rounds
        nothing, whatever the program says.
        """
        own = algorithm.exactness if exactness is None else exactness
        if is_allowed(own, self.accuracy, is_decisive=self.source.is_decisive):
            return True
        asked = self._asked is not Accuracy.EXACT and self.source.data_type
        return bool(asked) and algorithm.data_type == asked

    @property
    def ungrouped(self) -> tuple[Nest | ProcedureOutput, ...]:
        """The steps that are no groups."""
        return tuple(step for step in self.steps if not isinstance(step, RowBlocks))

    def algorithms_on(self, machine: Machine) -> tuple[AppliedAlgorithm, ...]:
        """Those of the algorithms that a machine can run."""
        return tuple(each for each in self.algorithms if each.can_run(machine))

    @property
    def constants(self) -> frozenset[Tensor]:
        """The tensors whose content is known."""
        return frozenset(tensor for tensor, _ in self.program.constants)

    def spaces(self, machine: Machine, threads: int) -> tuple[NestSpace, ...]:
        """The space of each nest."""
        if (machine, threads) not in self._spaces:
            self._spaces[machine, threads] = self._new_spaces(machine, threads)
        return self._spaces[machine, threads]

    def _new_spaces(self, machine: Machine, threads: int) -> tuple[NestSpace, ...]:
        found: list[NestSpace] = []
        for step in self.steps:
            if isinstance(step, RowBlocks):
                found += group_spaces(step, self.constants, machine, threads)
            elif isinstance(step, Nest):
                opened = tuple(n for n, axis in enumerate(step.axes) if is_symbolic(axis.extent))
                space = nest_space(
                    nominal_nest(step), self.constants, machine, threads, opened=opened
                )
                space = with_columns(space, self.algorithm.columns(step))
                found.append(with_few_addresses(space, step))
        if self.packing is None or self.packing.algorithm != self.algorithm:
            return tuple(found)
        return with_packing(found, self.packing)

    def with_packing(self, other: Schedule) -> Plan:
        """The direct plan whose default schedules pack constants as those of another plan.

        That is of a program with another number of rows; the plan itself where its algorithm is not
        among those of this one.
        """
        if other.algorithm not in self.algorithms:
            return self
        direct = self.with_algorithm(DIRECT)
        return replace(direct, packing=other, _others={}, _spaces={}, _defaults={})

    def with_accuracy(self, accuracy: Accuracy) -> Plan:
        """The direct plan of the same program, with the algorithms of another accuracy."""
        direct = self.with_algorithm(DIRECT)
        if accuracy is self.accuracy:
            return direct
        return replace(direct, accuracy=accuracy, _others={}, _algorithms=[], _defaults={})

    def allowing(self, algorithm: AppliedAlgorithm) -> Plan:
        """The plan, or one of the least accuracy that allows an algorithm somebody has chosen."""
        levels = (least_accuracy(algorithm.exactness), Accuracy.RELAXED)
        plans = (self, *map(self.with_accuracy, levels))
        return next(each for each in plans if each.allows(algorithm))

    def with_algorithm(self, algorithm: AppliedAlgorithm) -> Plan:
        """The plan of the same program under an algorithm.

        Raises InputError if the algorithm does not apply to this program, or is not allowed by the
        plan's accuracy.
        """
        if algorithm == self.algorithm:
            return self
        if not self.allows(algorithm):
            raise InputError(
                f"The algorithm {algorithm} is not {self.accuracy}.",
                remedy=f"Allow it with --accuracy {least_accuracy(algorithm.exactness)}, "
                "or use another schedule.",
            )
        if algorithm not in self._others:
            self._others[self.algorithm] = self
            self._others[algorithm] = replace(
                self._planned(algorithm),
                accuracy=self.accuracy,
                packing=self.packing,
                _made=self._made,
                _others=self._others,
                _spaces={},
                _algorithms=[],
                _defaults={},
            )
        return self._others[algorithm]

    def forget(self) -> None:
        """Let go of what was planned for others to ask again; plans that know each other stay long.

        Python finds such circles when it looks for them, which it does rarely during a build.
        """
        for kept in (self._others, self._made, self._spaces, self._defaults):
            kept.clear()

    def _planned(self, algorithm: AppliedAlgorithm) -> Plan:
        """The program under an algorithm, whose nests do not depend on accuracy or packing."""
        if algorithm not in self._made:
            self._made[algorithm] = self._newly_planned(algorithm)
        return self._made[algorithm]

    def _newly_planned(self, algorithm: AppliedAlgorithm) -> Plan:
        """The same anew; an algorithm that only groups nests has those of the one before it."""
        before = algorithm.before_groups
        if before is None:
            return plan_program(self.source, algorithm, self.known)
        plan = self.with_algorithm(before)
        steps = algorithm.grouped(plan.ungrouped, plan.program.outputs)
        return replace(plan, steps=steps, algorithm=algorithm)

    def default_schedule(self, machine: Machine, threads: int) -> Schedule:
        """The schedule with the best estimate of all algorithms.

        Those are left out whose plan depends on what dynamic sizes are, and for several threads
        those that add up in another order than the best one for one thread: results have the same
        bits for any number of threads.
        """
        return self._cheapest(machine, threads)[1]

    def default_cycles(self, machine: Machine, threads: int) -> float:
        """The estimated cycles of the default schedule."""
        return self._cheapest(machine, threads)[0]

    def _cheapest(self, machine: Machine, threads: int) -> tuple[float, Schedule]:
        if (machine, threads) not in self._defaults:
            plans = self._plans(self._summing_alike(machine, threads))
            self._defaults[machine, threads] = cheapest_schedule(plans, machine, threads)
        return self._defaults[machine, threads]

    def _plans(self, algorithms: Iterable[AppliedAlgorithm]) -> list[Plan]:
        """The plans under algorithms, but those that depend on what dynamic sizes are."""
        plans: list[Plan] = []
        for each in algorithms:
            with suppress(UndecidedSizeError) if each != DIRECT else nullcontext():
                plans.append(self.with_algorithm(each))
        return plans

    def _summing_alike(self, machine: Machine, threads: int) -> Sequence[AppliedAlgorithm]:
        """The algorithms that a machine can run, and that add up as the default for one thread."""
        known = self.algorithms_on(machine)
        if threads == 1 or len({each.order_of_sums for each in known}) == 1:
            return known
        _, best = cheapest_schedule(self._plans(known), machine, 1, _order_of_sums)
        order = best.algorithm.order_of_sums
        return [each for each in known if each.order_of_sums == order]

    def least_cycles(self, machine: Machine, threads: int) -> float:
        """What no estimate under the plan's own algorithm goes below."""
        return least_cycles(self.spaces(machine, threads), machine) + self.fixed_cycles(machine)

    def default_under_algorithm(self, machine: Machine, threads: int) -> tuple[float, Schedule]:
        """The estimated cycles of the best schedule under the plan's own algorithm, and itself."""
        spaces = self.spaces(machine, threads)
        choices = default_choices(spaces)
        cycles = sum(s.estimate(choice).cycles for s, choice in zip(spaces, choices, strict=True))
        return cycles + self.fixed_cycles(machine), Schedule(choices, self.algorithm)

    def fixed_cycles(self, machine: Machine) -> float:
        """The estimated cycles that depend on the algorithm alone: kernels, and waiting.

        Weights are charged as in the run of a whole network, where they come from memory; what a
        choice leaves of that time is part of the estimate of its nest.
        """
        groups = [step for step in self.steps if isinstance(step, RowBlocks)]
        known = machine.coefficients
        weights = sum(data.nbytes for _, data in self.program.constants)
        return (
            known.kernel * len(self.steps)
            + sum(waiting_cycles(group, machine) for group in groups)
            + known.arrival * weights / machine.main.rate
            + self.algorithm.fixed_cycles(self._between, machine)
        )

    def _between(self) -> set[Tensor]:
        """What nests leave for each other."""
        views = [nest.target for nest in self.nests]
        written = {view.viewed for view in views if isinstance(view, FlatView)}
        return written - set(self.program.outputs)


def plan_program(
    program: TensorProgram,
    algorithm: AppliedAlgorithm = DIRECT,
    known: Sequence[Algorithm] = ALGORITHMS,
) -> Plan:
    """The nests of a program under an algorithm; `known` are all that it may be planned under.

    Raises InputError if the algorithm does not apply to the program.
    """
    source = fold_constant_stages(program)
    return Plan(*planned_steps(source, algorithm), algorithm, source, known=known)


def cheapest_schedule(
    plans: Sequence[Plan],
    machine: Machine,
    threads: int,
    kind: Callable[[AppliedAlgorithm], object] | None = None,
) -> tuple[float, Schedule]:
    """The least estimate, in cycles, of the best schedules under several algorithms, and whose.

    Plans are tried from the lowest bound up, until it is not below the best estimate. Where only
    the `kind` of the best algorithm is wanted, those are enough that may have another one.
    """
    bounds = {plan: plan.least_cycles(machine, threads) for plan in plans}
    waiting = sorted(plans, key=bounds.__getitem__)
    best: tuple[float, Schedule] | None = None
    while waiting:
        found = waiting.pop(0).default_under_algorithm(machine, threads)
        if best is None or found[0] < best[0]:
            best = found
        waiting = [plan for plan in waiting if bounds[plan] < best[0]]
        if kind is not None:
            known = kind(best[1].algorithm)
            if all(kind(plan.algorithm) == known for plan in waiting):
                break
    assert best is not None
    return best


def _order_of_sums(algorithm: AppliedAlgorithm) -> object:
    return algorithm.order_of_sums


def read_schedule(text: str, plan: Plan) -> Schedule:
    """The schedule of a JSON text for a plan's program, under whatever algorithm it names.

    Raises InputError where the text is malformed or does not fit.
    """
    algorithm = algorithm_of(text, plan.known)
    return Schedule.from_json(text, plan.with_algorithm(algorithm).nests, plan.known)
