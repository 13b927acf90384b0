"""What a tiled nest reads and writes beyond the first cache: one description for all that it costs.

    for j_b in blocks of columns                touched: b[k, block]     a is read again in each
      for i_t in tiles of rows                           b[k, block]     b stays meanwhile
        for j_t in tiles of the block                    b[k, block]
          y[tile] = sum(k) a[i, k] * b[k, j]             b[k, tile]

Of each operand it says how many bytes a tile and each loop around it touch, how long the rows are
in which these lie, and whether anything asks for them early. A term of the estimate is a function
of it (`relay_tune/schedule/cost/terms.py`). What a tile touches is found once for all loops that
may stand around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from operator import mul

from relay_tune.machine.machine import Machine
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice, innermost, unrolled_extents
from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.fetched_operands import fetched_ahead
from relay_tune.schedule.cost.tile_extents import (
    distinct_places,
    tiled_axes,
    vector_axis,
    vector_count,
)
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.tensor.expression import Axis

REMEMBERED = 1 << 14


@dataclass(frozen=True, eq=False)
class TileTraffic:
    """What one register tile touches, whatever the loops around it are.

    Attributes:
        analysis: of the nest.
        choice: of which only what is `innermost` matters.
        machine: as an intrinsic sees it that keeps few long rows near.
        vector: the axis along the lanes, if there is one.
        extents: of the tile on each axis.
        steps: all of each reduction axis.
        order: the reduction axes, outermost first.
        written_out: how many steps of each are.
        touched: the bytes that it touches of each operand.
    """

    analysis: NestAnalysis
    choice: TileChoice
    machine: Machine
    vector: Axis | None
    extents: Mapping[Axis, int]
    steps: Mapping[Axis, int]
    order: Sequence[Axis]
    written_out: Mapping[Axis, int]
    touched: tuple[float, ...]

    @cached_property
    def tiles(self) -> int:
        """How many tiles there are."""
        return prod(-(-axis.extent // extent) for axis, extent in self.extents.items())

    @cached_property
    def arithmetic(self) -> float:
        """The cycles of one tile's reduction."""
        nest = self.analysis.nest
        vectors = vector_count(nest, self.choice, dict(tiled_axes(nest, self.choice)))
        operations = vectors * prod(self.steps.values()) * self.analysis.body_operations
        return operations / self.machine.vectors.fused_per_cycle


@dataclass(frozen=True, eq=False, slots=True)
class Traffic:
    """What a nest reads and writes under a choice.

    Attributes:
        tile: what its tiles touch.
        choice: of the nest.
        loops: the outer loops, the innermost first: an axis, and how often it runs.
        touched: the bytes of each operand in a tile, then inside of each loop.
        working_sets: the sums of these; what is fetched ahead is there twice.
        fetched: the operands that tiles ask for before they want them.
    """

    tile: TileTraffic
    choice: TileChoice
    loops: Sequence[tuple[Axis, int]]
    touched: Sequence[Sequence[float]]
    working_sets: Sequence[float]
    fetched: frozenset[Access]

    def awaits(self, access: Access) -> bool:
        """Whether it is fetched panel by panel, so that what is late is known."""
        return self.tile.analysis.match is None and access in self.fetched


def traffic_of(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> Traffic:
    """The traffic of a nest under a choice."""
    tile = tile_traffic(analysis, innermost(choice, choice.tile), machine)
    fetched = _fetched(analysis, choice, machine)
    loops, touched = _touched_by_loops(tile, choice)
    times = [2 if access in fetched else 1 for access in analysis.accesses]  # the next comes, too
    working_sets = [sum(map(mul, each, times)) for each in touched]
    return Traffic(tile, choice, loops, touched, working_sets, fetched)


@remembered(REMEMBERED)
def tile_traffic(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> TileTraffic:
    """What the tiles of a choice touch, of which only what is `innermost` matters."""
    nest = analysis.nest
    tiles = zip(nest.axes, choice.tile, strict=True)
    extents = {axis: min(extent, axis.extent) for axis, extent in tiles}
    steps = {axis: axis.extent for axis in nest.reduction}
    order = [nest.reduction[place] for place in choice.reduction_order]
    return TileTraffic(
        analysis=analysis,
        choice=choice,
        machine=_as_filled(machine, analysis),
        vector=vector_axis(nest, choice),
        extents=extents,
        steps=steps,
        order=order,
        written_out=unrolled_extents(order, choice.unroll),
        touched=_footprints(analysis, extents, steps),
    )


def _as_filled(machine: Machine, analysis: NestAnalysis) -> Machine:
    """The machine as an intrinsic sees it that reads few long rows, which stay near."""
    costs = None if analysis.match is None else analysis.match.costs(machine)
    if costs is None:
        return machine
    first, second, *others = machine.memories
    larger = replace(second, bytes=costs.filled * second.bytes)
    return replace(machine, memories=(first, larger, *others))


def _fetched(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> frozenset[Access]:
    """What a tile fetches before it is wanted: an operand, of an intrinsic's all of its parts."""
    found = fetched_ahead(analysis, choice, machine) if choice.prefetch else None
    if found is None:
        return frozenset()
    if analysis.match is None:
        return frozenset((found,))
    return frozenset(access for access in analysis.body_accesses if access.constant)


def _touched_by_loops(
    tile: TileTraffic, choice: TileChoice
) -> tuple[list[tuple[Axis, int]], list[tuple[float, ...]]]:
    """The outer loops, the innermost first, and the bytes of operands in a tile and each loop."""
    axes = tile.analysis.nest.axes
    inner = dict(tile.extents)
    loops: list[tuple[Axis, int]] = []
    touched = [tile.touched]
    for loop in reversed(outer_loops(axes, choice)):
        axis = axes[loop.place]
        loops.append((axis, loop.count))
        if loop.count == 1:
            touched.append(touched[-1])
            continue
        inner[axis] = min(inner[axis] * loop.count, axis.extent)
        touched.append(_footprints(tile.analysis, inner, tile.steps))
    return loops, touched


def _footprints(
    analysis: NestAnalysis, extents: Mapping[Axis, int], steps: Mapping[Axis, int]
) -> tuple[float, ...]:
    """The bytes that each operand touches over a box; a sliding window counts its overlap once."""
    every = tuple(steps.items())
    found: list[float] = []
    for access in analysis.accesses:
        if access.form is None:
            found.append(float(access.bytes * prod(extents.values())))
            continue
        terms = access.form.terms
        own = tuple([each for each in extents.items() if each[0] in terms])
        found.append(_footprint(access, own, every))
    return tuple(found)


@remembered(REMEMBERED)
def _footprint(
    access: Access,
    own: tuple[tuple[Axis, int], ...],
    steps: tuple[tuple[Axis, int], ...],
) -> float:
    """The bytes of an affine access by the extents of the axes that it depends on."""
    assert access.form is not None
    points = distinct_places(access.form, dict(own), dict(steps), None, 1)
    return access.bytes * min(points, float(access.elements))
