"""What speaks against a choice: its estimate, spills, large bodies, idle threads, exchange."""

from __future__ import annotations

import math
from math import prod

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.exchange import exchange_cycles
from relay_tune.schedule.cost.register_use import accumulators, register_use
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.space.space import NestSpace


class ChoiceCost:
    """The cost of a choice in cycles, found in steps: bounds from below first, the memory last."""

    __slots__ = ("_choice", "_imbalance", "_known", "_penalty", "_space", "_steps")

    def __init__(self, space: NestSpace, choice: TileChoice) -> None:
        self._space = space
        self._choice = choice
        most = space.machine.vectors.registers + space.machine.coefficients.spare_accumulators
        fits = accumulators(space.analysis, choice) <= most
        self._known = space.least_cycles(choice) if fits else math.inf
        self._penalty = self._imbalance = 1.0
        self._steps = 0

    def below(self, bound: float) -> float:
        """The cost; infinite where it is not below the bound."""
        while self._known < bound and self._steps < 2:
            self._known = self._with_penalties() if self._steps == 0 else self._whole()
            self._steps += 1
        return self._known if self._known < bound else math.inf

    def _with_penalties(self) -> float:
        """The bound by arithmetic with all that multiplies it."""
        space, choice = self._space, self._choice
        self._penalty, self._imbalance = _penalty(space, choice), _imbalance(space, choice)
        return self._known * self._penalty * self._imbalance

    def _whole(self) -> float:
        space, choice = self._space, self._choice
        exchanged = exchange_cycles(space.analysis, choice, space.machine, space.threads)
        cycles = space.estimate(choice).cycles
        return cycles * self._penalty * self._imbalance + exchanged


def _penalty(space: NestSpace, choice: TileChoice) -> float:
    """How much longer a nest takes for want of registers and of room for code, at a guess."""
    use = register_use(space.analysis, choice, space.machine)
    match = space.analysis.match
    if match is not None and use.registers > match.pattern.registers:
        return math.inf
    penalty, known = 1.0, space.machine.coefficients
    if use.registers > space.machine.vectors.registers:
        penalty += known.missing_register * (use.registers - space.machine.vectors.registers)
    if use.code > known.most_code:
        penalty += use.code / known.most_code
    return penalty


def _imbalance(space: NestSpace, choice: TileChoice) -> float:
    """The busiest thread's share over the even share."""
    if not choice.parallel or space.threads < 2:
        return 1.0
    chunks = _chunks(space.analysis.nest, choice)
    return -(-chunks // space.threads) * space.threads / chunks


def _chunks(nest: Nest, choice: TileChoice) -> int:
    return prod(loop.count for loop in outer_loops(nest.axes, choice)[: choice.parallel])
