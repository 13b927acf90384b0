"""What speaks against a choice: its estimate, spills, large bodies, idle threads, exchange."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import prod

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.estimate import compute_cycles, overlapped, whole_tile_cycles
from relay_tune.schedule.cost.exchange import exchange_cycles
from relay_tune.schedule.cost.register_use import accumulators, register_use
from relay_tune.schedule.cost.terms import memory_from_below
from relay_tune.schedule.cost.tile import Tile, tile_of
from relay_tune.schedule.cost.traffic import traffic_of
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.space.space import NestSpace


class TileCost:
    """What tiles cost at least, whatever the loops around them: arithmetic, found in steps."""

    __slots__ = ("_further", "_known", "tile")

    def __init__(self, space: NestSpace, choice: TileChoice) -> None:
        """Of the tiles of a choice, which become `tile`."""
        self.tile = tile_of(space.analysis, choice, space.machine)
        self._known = 0.0
        self._further: Iterator[float] | None = _of_tiles(self.tile, max(space.repeats, 1))

    def below(self, bound: float) -> float:
        """The cost; infinite where it is not below the bound."""
        while self._known < bound:
            further = None if self._further is None else next(self._further, None)
            if further is None:
                self._further = None
                return self._known
            self._known = further
        return math.inf


def _of_tiles(tile: Tile, repeats: float) -> Iterator[float]:
    """The arithmetic of whole tiles, then of those at the edges, too."""
    machine = tile.machine
    if accumulators(tile) > machine.vectors.registers + machine.coefficients.spare_accumulators:
        yield math.inf
        return
    yield whole_tile_cycles(tile) * repeats
    yield compute_cycles(tile) * repeats


class ChoiceCost:
    """The cost of a choice in cycles, found in steps: bounds from below first, the memory last."""

    __slots__ = ("_further", "_known")

    def __init__(
        self,
        space: NestSpace,
        choice: TileChoice,
        ahead: bool | None = None,
        tile: Tile | None = None,
    ) -> None:
        """The cost of a choice; with `ahead` of one of tiles, whose loops follow when needed.

        `tile`: its tiles, where they are known.
        """
        self._known = 0.0
        self._further = from_below(space, choice, ahead, tile)

    def below(self, bound: float) -> float:
        """The cost; infinite where it is not below the bound."""
        while self._known < bound:
            further = next(self._further, None)
            if further is None:
                return self._known
            self._known = further
        return math.inf


def from_below(
    space: NestSpace, choice: TileChoice, ahead: bool | None = None, tile: Tile | None = None
) -> Iterator[float]:
    """What a choice costs at least, more with each step; the last is the cost."""
    analysis, machine, repeats = space.analysis, space.machine, max(space.repeats, 1)
    if tile is None:
        tile = tile_of(analysis, choice, machine)
        for least in _of_tiles(tile, repeats):
            yield least
            if least == math.inf:
                return
    compute = compute_cycles(tile)
    if ahead is not None:
        choice = space.with_ahead_and_parallel(choice, ahead)
    penalty, imbalance = _penalty(tile), _imbalance(space, choice)
    yield compute * repeats * penalty * imbalance
    exchanged = exchange_cycles(analysis, choice, machine, space.threads)
    for hidden, exposed in memory_from_below(traffic_of(tile, choice)):
        cycles = overlapped(compute, hidden, machine) + exposed
        yield cycles * repeats * penalty * imbalance + exchanged


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
