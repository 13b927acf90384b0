"""A register tile under a choice: how far it reaches, its vectors, and what its accesses touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

from relay_tune.machine.machine import LINE_BYTES, Machine
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice, innermost, unrolled_extents
from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.size import is_symbolic

REMEMBERED = 1 << 14
"""Footprints that are kept: boxes differ in axes that an access does not depend on."""

REMEMBERED_TILES = 1 << 12


@dataclass(frozen=True, eq=False)
class Tile:
    """A register tile of a nest, whatever the loops around it are.

    Attributes:
        analysis: of the nest.
        choice: of which only what is `innermost` matters.
        machine: that it is estimated for.
        vector: the axis along the lanes, if it is one of the output.
        extents: of the tile on each axis.
        steps: all of each reduction axis.
        order: the reduction axes, outermost first.
        written_out: how many steps of each are.
        vectors: registers that hold its points.
    """

    analysis: NestAnalysis
    choice: TileChoice
    machine: Machine
    vector: Axis | None
    extents: Mapping[Axis, int]
    steps: Mapping[Axis, int]
    order: Sequence[Axis]
    written_out: Mapping[Axis, int]
    vectors: int

    @cached_property
    def count(self) -> int:
        """How many tiles there are."""
        return prod(-(-axis.extent // extent) for axis, extent in self.extents.items())

    @cached_property
    def arithmetic(self) -> float:
        """The cycles of its reduction, if nothing else takes any."""
        operations = self.vectors * prod(self.steps.values()) * self.analysis.body_operations
        return operations / self.machine.vectors.fused_per_cycle

    @cached_property
    def touched(self) -> tuple[float, ...]:
        """The bytes that it touches of each operand."""
        return footprints(self.analysis, self.extents, self.steps)

    @cached_property
    def filled(self) -> Machine:
        """The machine as an intrinsic sees it that reads few long rows, which stay near."""
        match = self.analysis.match
        costs = None if match is None else match.costs(self.machine)
        if costs is None:
            return self.machine
        first, second, *others = self.machine.memories
        larger = replace(second, bytes=costs.filled * second.bytes)
        return replace(self.machine, memories=(first, larger, *others))


def tile_of(
    analysis: NestAnalysis,
    choice: TileChoice,
    machine: Machine,
    extents: tuple[int, ...] | None = None,
) -> Tile:
    """The tiles of a choice; with `extents` those of another shape, as at an edge."""
    return _tile(analysis, innermost(choice, extents or choice.tile), machine)


@remembered(REMEMBERED_TILES)
def _tile(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> Tile:
    nest = analysis.nest
    tiles = zip(nest.axes, choice.tile, strict=True)
    extents = {axis: min(extent, axis.extent) for axis, extent in tiles}
    vector = nest.axes[choice.vector] if choice.vector >= 0 else None
    steps = _steps(nest, choice.reduction_order, choice.unroll)
    return Tile(
        analysis, choice, machine, vector, extents, *steps, vector_count(nest, choice, extents)
    )


@remembered(REMEMBERED_TILES)
def _steps(
    nest: Nest, positions: tuple[int, ...], unroll: int
) -> tuple[dict[Axis, int], list[Axis], dict[Axis, int]]:
    """All steps of the reduction, their order, and those that are written out."""
    order = [nest.reduction[position] for position in positions]
    every = {axis: axis.extent for axis in nest.reduction}
    return every, order, unrolled_extents(order, unroll)


def footprints(
    analysis: NestAnalysis, extents: Mapping[Axis, int], steps: Mapping[Axis, int]
) -> tuple[float, ...]:
    """The bytes that each operand touches over a box; a sliding window counts its overlap once."""
    every = tuple(steps.items())
    return tuple([footprint(access, extents, every) for access in analysis.accesses])


def footprint(
    access: Access, extents: Mapping[Axis, int], steps: tuple[tuple[Axis, int], ...]
) -> float:
    """The bytes that an operand touches over a box."""
    if access.form is None:
        return float(access.bytes * prod(extents.values()))
    terms = access.form.terms
    own = tuple([each for each in extents.items() if each[0] in terms])
    return _affine_footprint(access, own, steps)


@remembered(REMEMBERED)
def _affine_footprint(
    access: Access,
    own: tuple[tuple[Axis, int], ...],
    steps: tuple[tuple[Axis, int], ...],
) -> float:
    """The bytes of an affine access by the extents of the axes that it depends on."""
    assert access.form is not None
    points = distinct_places(access.form, dict(own), dict(steps), None, 1)
    if not access.constant:  # packed ones have what tiles read in lines
        points *= line_share(access.form, access.bytes, dict(own), dict(steps))
    return access.bytes * min(points, float(access.elements))


def line_share(
    form: Affine, size: int, extents: Mapping[Axis, int], steps: Mapping[Axis, int]
) -> float:
    """How many times more bytes come than a product wants: those of whole lines, 1 or more.

    A step that reads 8 columns of a panel of 64 floats takes half of a line, and the next step half
    of another one: tiles of 6 x 2 panels x 8 columns, sums of 1600 steps, 2048 x 512 results take
    91 ms, of 6 x 16 columns 57 (one core of a Zen 3 server). Neighbours under a window share lines.
    """
    sizes = {**extents, **steps}
    apart = {a: abs(n) for a in sizes if (n := form.coefficient(a)) and not is_symbolic(n)}
    own = {apart[axis] for axis in extents if axis in apart}
    summed = {apart[axis] for axis in steps if axis in apart}
    if 1 not in own or not summed or own & summed:
        return 1.0
    span = 1
    for axis in sorted(apart, key=apart.__getitem__):
        if apart[axis] * size >= LINE_BYTES and apart[axis] > span:
            break
        span += apart[axis] * (sizes[axis] - 1)
    return max(LINE_BYTES / (span * size), 1.0)


def tile_variants(tiles: Iterable[tuple[Axis, int]]) -> list[tuple[int, dict[Axis, int]]]:
    """How many tiles there are of each shape, the whole ones first, others at the edges."""
    variants: list[tuple[int, dict[Axis, int]]] = [(1, {})]
    for axis, tile in tiles:
        own = _extents(axis.extent, tile)
        variants = [(n * m, {**found, axis: e}) for n, found in variants for m, e in own]
    return variants


def _extents(extent: int, tile: int) -> list[tuple[int, int]]:
    """(how many tiles, their extent): the full ones and the one at the edge."""
    full, rest = divmod(extent, tile)
    return [(full, tile)] * bool(full) + [(1, rest)] * bool(rest)


def vector_count(nest: Nest, choice: TileChoice, extents: Mapping[Axis, int]) -> int:
    """Registers that hold the points of a tile."""
    vector = nest.axes[choice.vector] if choice.vector >= 0 else None
    count = 1
    for axis, extent in extents.items():
        count *= -(-extent // choice.lanes) if axis is vector else extent
    return count * (choice.unroll if choice.vector == -2 else 1)


def distinct_places(
    form: Affine,
    extents: Mapping[Axis, int],
    unrolled: Mapping[Axis, int],
    vector: Axis | None,
    lanes: int,
) -> float:
    """Different locations that an access touches in a tile, vectors counting once."""
    factors = form.terms
    windows = {axis: steps for axis, steps in unrolled.items() if axis in factors}
    count = 1.0
    for axis, extent in extents.items():
        factor = factors.get(axis)
        if factor is None:
            continue
        if axis is vector:
            count *= -(-extent // lanes)
            continue
        points = extent
        for window, steps in windows.items():
            stride = abs(factor // factors[window])
            if stride and abs(factor) == abs(stride * factors[window]) and stride <= steps:
                points = (points - 1) * stride + steps
                del windows[window]
                break
        count *= points
    for steps in windows.values():
        count *= steps
    return count


def neighbours(form: Affine, vector: Axis, extents: Mapping[Axis, int]) -> int:
    """How many elements beside each other a tile has of an access whose lanes lie apart."""
    return next((n for a, n in extents.items() if a is not vector and form.coefficient(a) == 1), 1)


def run_length(form: Affine, extents: Mapping[Axis, int]) -> int:
    """How many elements of a box of axes follow each other in memory before the first gap."""
    length = 1
    for axis in sorted((a for a in extents if form.coefficient(a)), key=form.coefficient):
        if form.coefficient(axis) != length:
            break
        length *= min(extents[axis], axis.extent)
    return length
