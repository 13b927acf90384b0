"""The choice with the best estimate, which is what a nest gets that was never tuned."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from relay_tune.remembered import remembered
from relay_tune.schedule.alternatives import is_small_window
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.estimates.exchange import exchange_cycles
from relay_tune.schedule.estimates.register_use import accumulators
from relay_tune.schedule.matrix_tiles.nest_product import nest_product
from relay_tune.schedule.nest import Nest
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.space import MAXIMUM_BODY, NestSpace, integer, pair
from relay_tune.tensor.matrix_registers import REGISTERS

REMEMBERED_DEFAULTS = 2048
ENOUGH_ACCUMULATORS = 8
"""Two fused operations a cycle at a latency of four cycles keep eight accumulators busy."""
ENOUGH_SHUFFLED = 4
"""Shuffles take half of these cycles, and small tiles leave registers for what they give."""

WORTH_CHANGING = 0.999
"""A choice that is changed has to be so much better."""

WORTH_TURNING = 0.995
"""A start with another order of the window's loops has to be so much better than those before: they
often find tiles that are as good."""


def default_choices(spaces: Sequence[NestSpace]) -> tuple[TileChoice, ...]:
    """The default choice of each nest."""
    return with_joined(spaces, [default_choice(space) for space in spaces])


def with_joined(
    spaces: Sequence[NestSpace], choices: Sequence[TileChoice]
) -> tuple[TileChoice, ...]:
    """The choices, but a nest that can share the loops of the one before has the same as that."""
    found: list[TileChoice] = []
    for space, choice in zip(spaces, choices, strict=True):
        found.append(found[-1] if space.analysis.near.joined else choice)
    return tuple(found)


@remembered(REMEMBERED_DEFAULTS)
def default_choice(space: NestSpace) -> TileChoice:
    """The combination with the best estimate: coordinate descent from a few starts.

    The descent looks at pairs of the choices that interact (vector and tile), so that it finds
    the shape of the register tile, and at the others one by one.
    """
    best: tuple[float, TileChoice] | None = None
    first = {name: values[0] for name, values in zip(space.names, space.values, strict=True)}
    for vector, start in product(space.values[0], _starts(space)):
        chosen = {**first, "vector": vector, **start}
        cost = _cost(space, chosen)
        for _ in range(3):
            before = cost
            for group in _groups(space, chosen):
                cost = _improve(space, chosen, group, cost)
            if cost >= before:
                break
        if best is None or cost < best[0] * (WORTH_TURNING if "reduction_order" in start else 1.0):
            best = (cost, space.decode(chosen))
    assert best is not None
    return best[1]


def _starts(space: NestSpace) -> list[dict[str, object]]:
    """Where the descent begins: with no blocks, and with many if tiles want other shapes then.

    Small tiles are good where blocks keep the rows of a sliding window in the first cache, tall
    ones where its rows are the innermost loop, since fewer values wait in registers then. Where a
    window shuffles its operands, and in groups, the innermost of the loops that are written out
    decides what these steps share.
    """
    starts: list[dict[str, object]] = [{}]
    choices = dict(zip(space.names, space.values, strict=True))
    if space.analysis.beside_windows:
        blocks = [(name, values) for name, values in choices.items() if name.startswith("blocks")]
        starts += [{name: values[-1]} for name, values in blocks]
        starts += [{"reduction_order": order} for order in choices["reduction_order"][1:]]
    shuffles = _shuffles(space) and is_small_window(space.analysis.nest)
    if shuffles or space.analysis.independent:
        written_out = choices["unroll"][-1]
        orders = choices["reduction_order"]
        starts += [{"reduction_order": order, "unroll": written_out} for order in orders]
    return starts


def _shuffles(space: NestSpace) -> bool:
    """Whether lanes share elements of an operand."""
    return any(access.repeats for access in space.analysis.body_accesses)


def _groups(space: NestSpace, chosen: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Choices to look at together; a window's unrolling decides what its tile can share.

    Beside channels, so does the axis that is innermost.
    """
    own = f"tile{pair(chosen['vector'])[0]}"
    tiles = tuple(name for name in space.names if name.startswith("tile") and name != own)
    blocks = [("order", name) for name in space.names if name.startswith("blocks")]
    orders: list[tuple[str, ...]] = [("order", "prefetch"), *blocks, ("reduction_order",)]
    if is_small_window(space.analysis.nest):
        has_channels = len(space.analysis.nest.reduction) > 2
        inside = [("reduction_order", "unroll")] if has_channels else []
        return [("vectors", *tiles, "unroll"), *inside, *orders]
    return [("vectors", *tiles), *orders, ("unroll",)]


def _improve(
    space: NestSpace, chosen: dict[str, object], group: tuple[str, ...], cost: float
) -> float:
    """Set the names of a group to their best values together."""
    index = dict(zip(space.names, space.values, strict=True))
    best = {name: chosen[name] for name in group}
    combinations = product(*(index[name] for name in group))
    enough = ENOUGH_SHUFFLED if _shuffles(space) else ENOUGH_ACCUMULATORS
    is_matrix = nest_product(space.analysis.nest) is not None
    for values in _filling(group, combinations, space.machine.registers, enough, is_matrix):
        candidate = {**chosen, **dict(zip(group, values, strict=True))}
        found = _cost(space, candidate, WORTH_CHANGING * cost)
        if found < WORTH_CHANGING * cost:
            cost = found
            best = dict(zip(group, values, strict=True))
    chosen.update(best)
    return cost


def _filling(
    group: tuple[str, ...],
    combinations: Iterator[tuple[object, ...]],
    registers: int,
    enough: int,
    is_matrix: bool,
) -> list[tuple[object, ...]]:
    """The combinations whose tile leaves few registers idle; all if the group shapes no tile."""
    counted = [n for n, name in enumerate(group) if name != "unroll"]
    if "vectors" not in group or is_matrix:
        return list(combinations)
    sized = [(prod(integer(values[n]) for n in counted), values) for values in combinations]
    fitting = [(points, values) for points, values in sized if points <= registers]
    enough = min(enough, max((points for points, _ in fitting), default=1))
    return [values for points, values in fitting if points >= enough]


def _cost(space: NestSpace, chosen: Mapping[str, object], bound: float = math.inf) -> float:
    """The cycles of a choice with what else speaks against it; infinite if not below the bound."""
    choice = space.decode(chosen)
    if accumulators(space.analysis, choice) > space.machine.registers + 4:
        return math.inf
    if space.least_cycles(choice) >= bound:
        return math.inf
    found = space.estimate(choice)
    penalty = 1.0
    product = nest_product(space.analysis.nest)
    if product is not None and found.registers > REGISTERS:
        return math.inf
    if found.registers > space.machine.registers:
        penalty += 0.5 * (found.registers - space.machine.registers)
    if found.code > MAXIMUM_BODY:
        penalty += found.code / MAXIMUM_BODY
    exchanged = exchange_cycles(space.analysis, choice, space.machine, space.threads)
    return found.cycles * penalty * _imbalance(space, choice) + exchanged


def _imbalance(space: NestSpace, choice: TileChoice) -> float:
    """The busiest thread's share over the even share."""
    if not choice.parallel or space.threads < 2:
        return 1.0
    chunks = _chunks(space.analysis.nest, choice)
    return -(-chunks // space.threads) * space.threads / chunks


def _chunks(nest: Nest, choice: TileChoice) -> int:
    return prod(loop.count for loop in outer_loops(nest.axes, choice)[: choice.parallel])
