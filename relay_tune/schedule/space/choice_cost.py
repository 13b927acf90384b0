"""What speaks against a choice: its estimate, spills, large bodies, idle threads, exchange."""

from __future__ import annotations

import math
from math import prod

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.estimate import compute_cycles
from relay_tune.schedule.cost.exchange import exchange_cycles
from relay_tune.schedule.cost.register_use import accumulators, register_use
from relay_tune.schedule.cost.tile import Tile, tile_of
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.space.space import NestSpace


class ChoiceCost:
    """The cost of a choice in cycles, found in steps: bounds from below first, the memory last."""

    __slots__ = (
        "_ahead",
        "_choice",
        "_imbalance",
        "_known",
        "_penalty",
        "_space",
        "_steps",
        "_tile",
    )

    def __init__(self, space: NestSpace, choice: TileChoice, ahead: bool | None = None) -> None:
        """The cost of a choice; with `ahead` of one of tiles, whose loops follow when needed."""
        self._space = space
        self._choice = choice
        self._ahead = ahead
        most = space.machine.vectors.registers + space.machine.coefficients.spare_accumulators
        self._tile = tile = tile_of(space.analysis, choice, space.machine)
        fits = accumulators(tile) <= most
        self._known = compute_cycles(tile) * max(space.repeats, 1) if fits else math.inf
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
        space = self._space
        if self._ahead is not None:
            self._choice = space.with_ahead_and_parallel(self._choice, self._ahead)
        choice = self._choice
        self._penalty, self._imbalance = _penalty(self._tile), _imbalance(space, choice)
        return self._known * self._penalty * self._imbalance

    def _whole(self) -> float:
        space, choice = self._space, self._choice
        exchanged = exchange_cycles(space.analysis, choice, space.machine, space.threads)
        cycles = space.estimate(choice).cycles
        return cycles * self._penalty * self._imbalance + exchanged


def _penalty(tile: Tile) -> float:
    """How much longer a nest takes for want of registers and of room for code, at a guess."""
    use, match = register_use(tile), tile.analysis.match
    if match is not None and use.registers > match.pattern.registers:
        return math.inf
    penalty, known = 1.0, tile.machine.coefficients
    missing = use.registers - tile.machine.vectors.registers
    if missing > 0:
        penalty += known.missing_register * missing
    if use.code > known.most_code:
        penalty += use.code / known.most_code
    return penalty


def _imbalance(space: NestSpace, choice: TileChoice) -> float:
    """The busiest thread's share over the even share."""
    if not choice.parallel or space.threads < 2:
        return 1.0
    loops = outer_loops(space.analysis.nest.axes, choice)[: choice.parallel]
    chunks = prod(loop.count for loop in loops)
    return -(-chunks // space.threads) * space.threads / chunks
