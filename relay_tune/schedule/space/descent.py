"""Coordinate descent through the choices of a nest, group by group of those that interact."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from operator import itemgetter

from relay_tune.schedule.space.alternatives import is_small_window
from relay_tune.schedule.space.choice_cost import ChoiceCost, TileCost
from relay_tune.schedule.space.space import NestSpace, integer, pair

ENOUGH_ACCUMULATORS = 8
"""Two fused operations a cycle at a latency of four cycles keep eight accumulators busy."""
ENOUGH_SHUFFLED = 4
"""Shuffles take half of these cycles, and small tiles leave registers for what they give.

So do conversions of constants that are stored in blocks, whose sums have registers of their own.
"""

PASSES = 3
"""How often a descent looks at all choices, at most."""

WORTH_CHANGING = 0.999
"""A choice that is changed has to be so much better."""

Chosen = Mapping[str, object]
"""A value for each choice of a space, by name."""


class Descent:
    """Descents in one space; no combination is decoded or estimated twice.

    Most differ in the loops around equal tiles, whose arithmetic alone may be too much.
    """

    def __init__(self, space: NestSpace) -> None:
        self._space = space
        self._values = dict(zip(space.names, space.values, strict=True))
        self._enough = _enough_accumulators(space)
        self._combinations: dict[tuple[str, ...], Sequence[Chosen]] = {}
        self._costs: dict[tuple[object, ...], ChoiceCost] = {}
        self._tiles: dict[tuple[object, ...], TileCost] = {}
        self._all_of = itemgetter(*space.names)
        self._inner_of = itemgetter(*(name for name in space.names if not _is_around(name)))

    def run(self, chosen: Chosen) -> tuple[float, Chosen]:
        """The cost of the combination at the end of a descent, and itself."""
        cost = self._cost(chosen, math.inf)
        groups = self.groups(chosen)
        seen: dict[tuple[str, ...], Chosen] = {}
        for _ in range(PASSES):
            before = cost
            for group in groups:
                if seen.get(group) == chosen:  # nothing has changed since it was improved
                    continue
                chosen, cost = self._improved(chosen, group, cost)
                seen[group] = chosen
            if cost >= before:
                break
        return cost, chosen

    def may_reach(self, chosen: Chosen, bound: float) -> bool:
        """Whether a descent's first group has a combination that costs less than a bound."""
        group = self.groups(chosen)[0]
        candidates = ({**chosen, **values} for values in self.together(group))
        return any(self._cost(candidate, bound) < bound for candidate in candidates)

    def groups(self, chosen: Chosen) -> list[tuple[str, ...]]:
        """Choices to look at together; a window's unrolling decides what its tile can share.

        Beside channels, so does the axis that is innermost.
        """
        space = self._space
        own = f"tile{pair(chosen['vector'])[0]}"
        tiles = tuple(name for name in space.names if name.startswith("tile") and name != own)
        blocks = [("order", name) for name in space.names if name.startswith("blocks")]
        orders: list[tuple[str, ...]] = [("order", "prefetch"), *blocks, ("reduction_order",)]
        if is_small_window(space.analysis.nest):
            has_channels = len(space.analysis.nest.reduction) > 2
            inside = [("reduction_order", "unroll")] if has_channels else []
            return [("vectors", *tiles, "unroll"), *inside, *orders]
        return [("vectors", *tiles), *orders, ("unroll",)]

    def _improved(
        self, chosen: Chosen, group: tuple[str, ...], cost: float
    ) -> tuple[Chosen, float]:
        """The combination with the best values of a group together, and its cost."""
        best = chosen
        for values in self.together(group):
            candidate = {**chosen, **values}
            found = self._cost(candidate, WORTH_CHANGING * cost)
            if found < WORTH_CHANGING * cost:
                cost, best = found, candidate
        return best, cost

    def together(self, group: tuple[str, ...]) -> Sequence[Chosen]:
        """The values of a group that are tried together, by name."""
        found = self._combinations.get(group)
        if found is None:
            combined = self._combined(group)
            found = [dict(zip(group, values, strict=True)) for values in combined]
            self._combinations[group] = found
        return found

    def _combined(self, group: tuple[str, ...]) -> Sequence[tuple[object, ...]]:
        """All combinations of a group's values, of those that shape a tile the ones worth a try."""
        values = [self._values[name] for name in group]
        has_few_tiles = self._space.analysis.match is not None
        if "vectors" not in group or has_few_tiles:
            return list(product(*values))
        shaping = len(group) - ("unroll" in group)  # which is the last one
        sizes = [[integer(size) for size in each] for each in values[:shaping]]
        filling = _filling(sizes, self._space.machine.vectors.registers, self._enough)
        return [(*shape, *rest) for shape in filling for rest in product(*values[shaping:])]

    def _cost(self, chosen: Chosen, bound: float) -> float:
        """The cycles of a combination with what else speaks against it; infinite if not below."""
        inner = self._inner_of(chosen)
        tiles = self._tiles.get(inner)
        if tiles is None:
            tiles = self._tiles[inner] = TileCost(self._space, self._space.tiles(chosen))
        if tiles.below(bound) == math.inf:
            return math.inf
        key = self._all_of(chosen)
        known = self._costs.get(key)
        if known is None:
            choice, ahead = self._space.tiles(chosen), bool(chosen["prefetch"])
            known = self._costs[key] = ChoiceCost(self._space, choice, ahead, tiles.tile)
        return known.below(bound)


def _is_around(name: str) -> bool:
    """Whether a choice is one of the loops around tiles, and of what is asked for there."""
    return name in ("order", "prefetch") or name.startswith("blocks")


def _enough_accumulators(space: NestSpace) -> int:
    is_busy = shuffles(space) or space.analysis.has_blocks
    return ENOUGH_SHUFFLED if is_busy else ENOUGH_ACCUMULATORS


def shuffles(space: NestSpace) -> bool:
    """Whether lanes share elements of an operand."""
    return any(access.repeats for access in space.analysis.body_accesses)


def _filling(sizes: Sequence[Sequence[int]], registers: int, enough: int) -> list[tuple[int, ...]]:
    """The combinations of a tile's sizes that leave few registers idle, in their order."""
    fitting: list[tuple[int, tuple[int, ...]]] = [(1, ())]
    for each in sizes:
        fitting = [
            (points * size, (*shape, size))
            for points, shape in fitting
            for size in each
            if points * size <= registers
        ]
    enough = min(enough, max((points for points, _ in fitting), default=1))
    return [shape for points, shape in fitting if points >= enough]
