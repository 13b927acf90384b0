"""The choices that a nest leaves open, and the default among them.

A space is data: names with lists of values, and a rule for which combinations are sensible. Every
combination that passes the rule gives correct code; the rule only leaves out what cannot be fast
(more accumulators than registers, loop bodies larger than the instruction cache).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations, product
from math import prod

from relay_tune.schedule.analysis import NOTHING_NEAR, Near, NestAnalysis, analyse, element_bytes
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.estimate import Estimate, estimate
from relay_tune.schedule.exchange import exchange_cycles
from relay_tune.schedule.machine import Machine
from relay_tune.schedule.memory_traffic import shares_weights
from relay_tune.schedule.nest import Nest
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.register_use import accumulators, register_use
from relay_tune.tensor.expression import Axis, Tensor

TILE_EXTENTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16)
VECTOR_COUNTS = (1, 2, 3, 4, 5, 6, 8)
UNROLLS = (1, 2, 4, 8)
REMEMBERED_DEFAULTS = 2048
BLOCK_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
LEAST_BLOCK = 24
"""Fewer elements of an axis are no more than a tile or two."""
LEAST_PREFETCHED = 128 << 10
"""Bytes of constants; fewer arrive in no time."""
LEAST_BLOCKED_SHARE = 0.25
"""Blocks are useless where all that a nest reads takes less than this share of the second cache."""
MAXIMUM_WINDOW = 49
MAXIMUM_BODY = 640
ENOUGH_ACCUMULATORS = 8
"""Two fused operations a cycle at a latency of four cycles keep eight accumulators busy."""
SERIAL_CYCLES = 6000.0
"""Below about so many cycles a nest stays on one thread: a barrier costs as much."""


@dataclass(frozen=True, eq=False, slots=True)
class NestSpace:
    """The open choices of one nest.

    Attributes:
        analysis: of the nest.
        machine: that it is estimated for.
        threads: that it will run on.
        repeats: how often a group runs the nest; 0 if it runs by itself.
        names: of the choices.
        values: the alternatives of each, in an order in which neighbours are similar.
    """

    analysis: NestAnalysis
    machine: Machine
    threads: int
    repeats: int
    names: tuple[str, ...]
    values: tuple[tuple[object, ...], ...]

    def decode(self, chosen: Mapping[str, object]) -> TileChoice:
        """The choice that values stand for."""
        nest = self.analysis.nest
        vector, lanes = _pair(chosen["vector"])
        tile = []
        for place, axis in enumerate(nest.axes):
            extent = _integer(chosen.get(f"tile{place}", 1))
            if place == vector:
                extent = _integer(chosen["vectors"]) * lanes
            elif axis in self.analysis.written_out:
                extent = axis.extent
            tile.append(min(extent, axis.extent))
        order = _integers(chosen["order"])
        blocks = [_integer(chosen.get(f"blocks{place}", 1)) for place in range(len(nest.axes))]
        choice = TileChoice(
            vector=vector,
            lanes=lanes,
            tile=tuple(tile),
            order=order,
            blocks=tuple(blocks),
            reduction_order=_integers(chosen["reduction_order"]),
            unroll=_integer(chosen["unroll"]),
            parallel=0,
        )
        if chosen["prefetch"] and shares_weights(self.analysis, choice):
            choice = replace(choice, prefetch=True)
        if self.repeats:
            return choice
        return with_parallel(self.analysis, choice, self.machine, self.threads)

    def estimate(self, choice: TileChoice) -> Estimate:
        """The estimate of a choice of this space, for all times that the nest runs."""
        return estimate(self.analysis, choice, self.machine).times(max(self.repeats, 1))

    def is_sensible(self, choice: TileChoice) -> bool:
        """Whether a choice can be fast at all."""
        registers = self.machine.registers
        if accumulators(self.analysis, choice) > registers:
            return False
        use = register_use(self.analysis, choice, self.machine)
        return use.registers <= registers + 1 and use.code <= MAXIMUM_BODY

    def combinations(self) -> Iterator[dict[str, object]]:
        """All combinations, sensible or not."""
        for values in product(*self.values):
            yield dict(zip(self.names, values, strict=True))


def nest_space(
    nest: Nest,
    constants: frozenset[Tensor],
    machine: Machine,
    threads: int,
    repeats: int = 0,
    near: Near = NOTHING_NEAR,
) -> NestSpace:
    """The space of a nest, which a group may run `repeats` times on what is `near` a core."""
    analysis = analyse(nest, constants, near)
    vectors = _vector_choices(analysis, machine)
    choices: dict[str, tuple[object, ...]] = {"vector": tuple(vectors)}
    longest = max((_vector_extent(nest, v) // v[1] for v in vectors if v[0] >= 0), default=1)
    choices["vectors"] = tuple(n for n in VECTOR_COUNTS if n <= max(longest, 1))
    for place in _tiled_axes(analysis):
        choices[f"tile{place}"] = _tile_extents(nest.axes[place].extent)
    choices["order"] = tuple(_orders(nest, _tiled_axes(analysis)))
    for place in _blocked_axes(analysis, machine):
        choices[f"blocks{place}"] = _block_counts(nest.axes[place].extent)
    choices["reduction_order"] = tuple(_reduction_orders(nest))
    choices["unroll"] = _unrolls(nest)
    choices["prefetch"] = (False, True) if _reads_weights(analysis) else (False,)
    return NestSpace(analysis, machine, threads, repeats, tuple(choices), tuple(choices.values()))


@lru_cache(maxsize=REMEMBERED_DEFAULTS)
def default_choice(space: NestSpace) -> TileChoice:
    """The combination with the best estimate: coordinate descent from a few starts.

    The descent looks at pairs of the choices that interact (vector and tile), so that it finds
    the shape of the register tile, and at the others one by one.
    """
    best: tuple[float, TileChoice] | None = None
    for vector in space.values[0]:
        chosen = {name: values[0] for name, values in zip(space.names, space.values, strict=True)}
        chosen["vector"] = vector
        cost = _cost(space, chosen)
        for _ in range(3):
            before = cost
            for group in _groups(space, chosen):
                cost = _improve(space, chosen, group, cost)
            if cost >= before:
                break
        if best is None or cost < best[0]:
            best = (cost, space.decode(chosen))
    assert best is not None
    return best[1]


def _groups(space: NestSpace, chosen: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Choices to look at together; a window's unrolling decides what its tile can share."""
    own = f"tile{_pair(chosen['vector'])[0]}"
    tiles = tuple(name for name in space.names if name.startswith("tile") and name != own)
    steps = prod(axis.extent for axis in space.analysis.nest.reduction)
    blocks = [("order", name) for name in space.names if name.startswith("blocks")]
    orders: list[tuple[str, ...]] = [("order", "prefetch"), *blocks, ("reduction_order",)]
    if 1 < steps <= MAXIMUM_WINDOW:
        return [("vectors", *tiles, "unroll"), *orders]
    return [("vectors", *tiles), *orders, ("unroll",)]


def _improve(
    space: NestSpace, chosen: dict[str, object], group: tuple[str, ...], cost: float
) -> float:
    """Set the names of a group to their best values together."""
    index = dict(zip(space.names, space.values, strict=True))
    best = {name: chosen[name] for name in group}
    combinations = product(*(index[name] for name in group))
    for values in _filling(group, combinations, space.machine.registers):
        candidate = {**chosen, **dict(zip(group, values, strict=True))}
        found = _cost(space, candidate)
        if found < cost * 0.999:
            cost = found
            best = dict(zip(group, values, strict=True))
    chosen.update(best)
    return cost


def _filling(
    group: tuple[str, ...], combinations: Iterator[tuple[object, ...]], registers: int
) -> list[tuple[object, ...]]:
    """The combinations whose tile leaves few registers idle; all if the group shapes no tile."""
    counted = [n for n, name in enumerate(group) if name != "unroll"]
    if "vectors" not in group:
        return list(combinations)
    sized = [(prod(_integer(values[n]) for n in counted), values) for values in combinations]
    fitting = [(points, values) for points, values in sized if points <= registers]
    enough = min(ENOUGH_ACCUMULATORS, max((points for points, _ in fitting), default=1))
    return [values for points, values in fitting if points >= enough]


def _cost(space: NestSpace, chosen: Mapping[str, object]) -> float:
    choice = space.decode(chosen)
    if accumulators(space.analysis, choice) > space.machine.registers + 4:
        return math.inf
    found = space.estimate(choice)
    penalty = 1.0
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


def with_parallel(
    analysis: NestAnalysis, choice: TileChoice, machine: Machine, threads: int
) -> TileChoice:
    """The choice with enough outer loops fused into the parallel one; none for small nests.

    The number does not depend on `threads`, so that code runs well on any number of them.
    """
    if not choice.order or _least_cycles(analysis, max(choice.lanes, 1)) < SERIAL_CYCLES:
        return choice
    fused, chunks = 0, 1
    loops = outer_loops(analysis.nest.axes, choice)
    while fused < len(loops) and chunks < 64:
        chunks *= loops[fused].count
        fused += 1
    return replace(choice, parallel=fused)


@lru_cache(maxsize=REMEMBERED_DEFAULTS)
def _least_cycles(analysis: NestAnalysis, lanes: int) -> float:
    """A rough bound, by arithmetic and by what is read."""
    operations = max(analysis.body_operations, analysis.result_operations, 1.0)
    accesses = (*analysis.body_accesses, *analysis.result_accesses)
    traffic = sum(access.elements * access.bytes for access in accesses)
    return max(analysis.nest.points * operations / lanes, traffic / 32)


def _pair(value: object) -> tuple[int, int]:
    first, second = _integers(value)
    return first, second


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value


def _integers(value: object) -> tuple[int, ...]:
    assert isinstance(value, tuple)
    return value


def _vector_extent(nest: Nest, vector: tuple[int, int]) -> int:
    return nest.axes[vector[0]].extent if vector[0] >= 0 else 1


def _vector_choices(analysis: NestAnalysis, machine: Machine) -> list[tuple[int, int]]:
    """(axis, lanes): the axes along which most accesses are contiguous, best first."""
    nest = analysis.nest
    lanes = max(1, machine.vector_bytes // _widest(analysis))
    rated: list[tuple[float, int, int]] = []
    for place, axis in enumerate(nest.axes):
        if axis in analysis.written_out:
            continue
        fitting = min(lanes, 1 << max(axis.extent - 1, 0).bit_length())
        if fitting > 1:
            rated.append((_scattered(analysis, axis) / min(axis.extent, lanes), place, fitting))
    rated.sort()
    found = [(place, fitting) for _, place, fitting in rated[:2]]
    if nest.reduction and _lanes_of_reduction(analysis):
        extent = nest.reduction[-1].extent
        found.append((-2, min(lanes, 1 << (extent.bit_length() - 1))))
    return found or [(-1, 1)]


def _widest(analysis: NestAnalysis) -> int:
    """Bytes of the widest element in registers."""
    sizes = [access.bytes for access in (*analysis.body_accesses, *analysis.result_accesses)]
    accumulated = 1 if analysis.nest.body is None else element_bytes(analysis.nest.body.dtype)
    return max([*sizes, accumulated, analysis.store_bytes])


def _scattered(analysis: NestAnalysis, axis: Axis) -> float:
    """A rough cost of running an axis along the lanes: scattered loads and stores count most."""
    cost = 1.0
    for access in analysis.body_accesses:
        if (
            access.form is None
            or access.form.coefficient(axis) not in (0, 1)
            and not access.constant
        ):
            cost += 16.0
    for access in analysis.result_accesses:
        if access.form is None or access.form.coefficient(axis) not in (0, 1):
            cost += 4.0
    if analysis.store_form is None or analysis.store_form.coefficient(axis) != 1:
        cost += 4.0
    return cost


def _lanes_of_reduction(analysis: NestAnalysis) -> bool:
    """Whether the innermost reduction axis is contiguous wherever it occurs."""
    axis = analysis.nest.reduction[-1]
    if axis.extent < 4:
        return False
    return all(
        access.form is not None and access.form.coefficient(axis) in (0, 1)
        for access in analysis.body_accesses
    )


def _tiled_axes(analysis: NestAnalysis) -> list[int]:
    """Axes that may have several points in a register tile: the last ones with reuse.

    Without a reduction, those along which some elements lie beside each other, if others do not.
    """
    nest = analysis.nest
    if nest.body is None:
        forms = [analysis.store_form, *(access.form for access in analysis.result_accesses)]
        contiguous = [
            place
            for place, axis in enumerate(nest.axes)
            if axis not in analysis.written_out
            and any(form is not None and form.coefficient(axis) == 1 for form in forms)
        ]
        return contiguous if len(contiguous) > 1 else []
    reusing = [
        place
        for place, axis in enumerate(nest.axes)
        if axis.extent > 1
        and any(a.form is not None and not a.form.coefficient(axis) for a in analysis.body_accesses)
    ]
    return reusing[-3:]


def _blocked_axes(analysis: NestAnalysis, machine: Machine) -> list[int]:
    """Axes whose tiles may run in blocks: those with reuse, if the data outgrow a cache's share."""
    read = sum(access.elements * access.bytes for access in analysis.body_accesses)
    if read <= machine.cache_bytes[1] * LEAST_BLOCKED_SHARE:
        return []
    places = {*_tiled_axes(analysis), *analysis.beside_windows}
    return [p for p in sorted(places) if len(_block_counts(_extent(analysis, p))) > 1]


def _extent(analysis: NestAnalysis, place: int) -> int:
    return analysis.nest.axes[place].extent


def _reads_weights(analysis: NestAnalysis) -> bool:
    """Whether a nest reduces over constants that are large enough to be worth a prefetch."""
    sizes = [a.elements * a.bytes for a in analysis.body_accesses if a.constant]
    return max(sizes, default=0) >= LEAST_PREFETCHED


def _block_counts(extent: int) -> tuple[int, ...]:
    return tuple(n for n in BLOCK_COUNTS if n == 1 or extent // n >= LEAST_BLOCK)


def _tile_extents(extent: int) -> tuple[int, ...]:
    """Extents to try on an axis: small ones, and divisors up to 28."""
    found = {n for n in TILE_EXTENTS if n <= extent}
    found |= {n for n in range(1, min(extent, 28) + 1) if extent % n == 0}
    return tuple(sorted(found))


def _orders(nest: Nest, tiled: list[int]) -> Iterator[tuple[int, ...]]:
    """Loop orders: the axes as stored, with the ones that have reuse permuted among their places.

    Axes without reuse stay where they are; permuting them changes nothing but strides.
    """
    places = tuple(range(len(nest.axes)))
    moving = tiled if len(tiled) <= 3 else tiled[-3:]
    seen = set()
    for arrangement in permutations(moving):
        order = list(places)
        for slot, place in zip(moving, arrangement, strict=True):
            order[slot] = place
        if tuple(order) not in seen:
            seen.add(tuple(order))
            yield tuple(order)


def _unrolls(nest: Nest) -> tuple[int, ...]:
    """Steps to write out: powers of two; of small windows nothing, whole rows, or all."""
    if not nest.reduction:
        return (1,)
    rows, steps = [1], 1
    for axis in reversed(nest.reduction):
        steps *= axis.extent
        rows.append(steps)
    return tuple(rows) if 1 < steps <= MAXIMUM_WINDOW else UNROLLS


def _reduction_orders(nest: Nest) -> Iterator[tuple[int, ...]]:
    """Orders of the reduction loops: as written, and with each axis in turn as the innermost."""
    places = list(range(len(nest.reduction)))
    yield tuple(places)
    for place in places[:-1]:
        yield (*(p for p in places if p != place), place)
