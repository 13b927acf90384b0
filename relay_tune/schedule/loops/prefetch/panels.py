"""Operands of the next tile, asked for while the present one is computed.

    before:  for j_t: for i_t: for k_o: { steps of tile (j_t, i_t) on panel w[j_t] }
    after:   for j_t: for i_t: for k_o: { prefetch lines (i_t, k_o) of panel w[j_t + 1]; steps }

A panel is what a tile reads of an operand, in one piece (packed weights, columns that were copied
(`nests.panels`), whole rows) or a piece of a row in each reduction step. It is read once from LLC
or DRAM and then again and again from L2, by all tiles that share it. Its first reader would
wait for memory; spread over the steps of the tiles before, the transfer hides behind arithmetic.
Packed weights are worth it even where only one tile reads each panel.

The lines that one group of steps asks for lie in different parts of the panel: memory serves
several streams faster than a single one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.loops.packed_loads import PackedLoad
from relay_tune.schedule.loops.prefetch.fetch import (
    Fetch,
    Site,
    Turns,
    elements_of_line,
    least_count,
)
from relay_tune.schedule.loops.prefetch.limits import MOST_ELEMENTS, MOST_PANEL_LINES, OPEN_TILES
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.outer_loops import OuterLoop, outer_loops
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import INDEX, Axis, Load, Scalar, Tensor, literal
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads


@dataclass(frozen=True, slots=True)
class Pieces:
    """How what a tile reads of an operand lies in memory.

    Attributes:
        size: the elements of a piece.
        count: how many pieces there are: one, or one for each reduction step.
        apart: how many elements apart the pieces of two steps begin.
    """

    size: int
    count: int = 1
    apart: int = 0


@dataclass(frozen=True, slots=True)
class Panels:
    """What the tiles of a nest read of an operand.

    Attributes:
        tensor: the operand; its elements are counted from the first one.
        pieces: of a panel.
        offset: the first element of the first panel.
        steps: the axes of the nest that a panel depends on, and how many elements apart the panels
            of two neighbouring tiles on each of them begin.
        next: how many elements behind a panel the one begins that is read next.
        is_packed: whether the operand is a constant in the order in which the nest reads it.
    """

    tensor: Tensor
    pieces: Pieces
    offset: int
    steps: tuple[tuple[Axis, int], ...]
    next: int
    is_packed: bool = False


@dataclass(frozen=True, slots=True)
class PanelPrefetch:
    """Which panels are fetched ahead, and how much in each group of reduction steps.

    A panel in one piece is divided among all groups of all readers, the first ones of each tile.
    Of a panel with a piece for each step, a group fetches the pieces of its own steps; each reader
    takes a part of them, until all of their lines are asked for.

    Attributes:
        panels: of one operand.
        readers: the positions of the loops over the tiles that read one panel, outermost first.
        steps: in a group.
        lines: of a piece that one group fetches.
        apart: how many lines apart these begin.
        shares: how many groups of a tile fetch, or how many readers.
        is_every: whether these are all of them.
    """

    panels: Panels
    readers: tuple[int, ...]
    steps: int
    lines: int
    apart: int
    shares: int
    is_every: bool

    def fetches(self, site: Site) -> Iterator[Fetch]:
        """A share of the panel after the present one."""
        panels, readers = self.panels, Turns([site.tiles[position] for position in self.readers])
        start: Scalar = literal(panels.offset + panels.next, INDEX)
        for axis, apart in panels.steps:
            start = start + site.bindings[axis].number * apart
        group, reader = Turns(site.groups).number, readers.number
        line = elements_of_line(panels.tensor)
        pieces: list[Scalar] = [literal(0, INDEX)]
        turn = group
        if panels.pieces.count > 1:
            start = start + reader * (self.lines * line)
            pieces = [(group * self.steps + n) * panels.pieces.apart for n in range(self.steps)]
            turn = reader
        else:
            start = start + (reader * self.shares + group) * line
        lines = tuple(
            (panels.tensor, start + piece + number * self.apart * line)
            for piece in pieces
            for number in range(self.lines)
        )
        limits = [] if self.is_every else [(turn, self.shares)]
        limits += [(loop, OPEN_TILES) for loop in readers.loops if is_symbolic(loop.extent)]
        yield Fetch(lines, tuple(limits))


def panel_prefetch(
    nest: Nest,
    choice: TileChoice,
    reduction: Sequence[Axis],
    packed: Mapping[Load, PackedLoad],
) -> PanelPrefetch | None:
    """What to fetch ahead, or None where nothing lies in panels worth it.

    `packed` are the loads that read packed constants: these go before others.
    """
    if not has_whole_groups(reduction, choice.unroll) or len(packed) > 1:
        return None
    unrolled = unrolled_extents(reduction, choice.unroll)
    loops = outer_loops(nest.axes, choice)
    operands = _operands(nest, choice, loops, packed)
    for panels in operands:
        found = _fetched(panels, nest, loops, unrolled[reduction[-1]], 2)
        if found is not None:
            return found
    for panels in operands:
        if panels.is_packed and panels.pieces.size <= MOST_ELEMENTS:
            return _fetched(panels, nest, loops, unrolled[reduction[-1]], 1)
    return None


def has_whole_groups(reduction: Sequence[Axis], unroll: int) -> bool:
    """Whether steps along the innermost axis alone are written out, so that each group can fetch.

    `reduction` are the axes of known extents in the order of their loops.
    """
    if not reduction or any(is_symbolic(axis.extent) for axis in reduction):
        return False
    unrolled = unrolled_extents(reduction, unroll)
    return all(unrolled[axis] == 1 for axis in reduction[:-1])


def _operands(
    nest: Nest, choice: TileChoice, loops: Sequence[OuterLoop], packed: Mapping[Load, PackedLoad]
) -> list[Panels]:
    found = [_packed_panels(load) for load in packed.values()]
    for load in loads(nest.body) if nest.body is not None else ():
        if load not in packed and isinstance(load.tensor, FlatView):
            panels = _panels_in_place(load, nest, choice, loops)
            found += [panels] if panels is not None else []
    return found


def _packed_panels(load: PackedLoad) -> Panels:
    recipe = load.constant.recipe
    size = prod(a.extent for a in recipe.plain) * prod(a.tile for a in recipe.tiled)
    steps, apart = [], size
    for axis, packed in reversed(list(zip(load.tiled, recipe.tiled, strict=True))):
        steps.append((axis, apart))
        apart *= packed.count
    return Panels(load.constant.tensor, Pieces(size), 0, tuple(reversed(steps)), size, True)


def _panels_in_place(
    load: Load, nest: Nest, choice: TileChoice, loops: Sequence[OuterLoop]
) -> Panels | None:
    """The panels of an operand that is read where it lies."""
    form = axis_affine(load.indices[0])
    if form is None:
        return None
    tiles = dict(zip(nest.axes, choice.tile, strict=True))
    used = [axis for axis in (*nest.axes, *nest.reduction) if form.coefficient(axis)]
    if len(used) != len(form.terms) or any(is_symbolic(axis.extent) for axis in used):
        return None
    pieces = pieces_of(form, tiles, nest.reduction)
    if pieces is None:
        return None
    walked = [nest.axes[loop.place] for loop in reversed(loops) if loop.count != 1]
    innermost = next((axis for axis in walked if axis in used), None)
    if innermost is None:
        return None
    steps = tuple((a, form.coefficient(a) * tiles[a]) for a in nest.axes if a in used)
    return Panels(load.tensor, pieces, form.constant, steps, dict(steps)[innermost])


def pieces_of(form: Affine, tile: Mapping[Axis, int], reduction: Sequence[Axis]) -> Pieces | None:
    """How what a tile reads lies in memory, or None if it is neither one piece nor one a step."""
    steps = {axis: axis.extent for axis in reduction}
    size = _piece_size(form, {**tile, **steps})
    if size is not None:
        return Pieces(size)
    size = _piece_size(form, tile)
    if size is None or len(reduction) != 1 or form.coefficient(reduction[0]) < size:
        return None
    return Pieces(size, reduction[0].extent, form.coefficient(reduction[0]))


def _piece_size(form: Affine, extents: Mapping[Axis, int]) -> int | None:
    """How many elements a box of axes reads, if they follow each other in memory."""
    size = 1
    for axis in sorted((a for a in extents if form.coefficient(a)), key=form.coefficient):
        count = min(extents[axis], axis.extent)
        if count > 1 and form.coefficient(axis) != size:
            return None
        size *= count
    return size


def _fetched(
    panels: Panels, nest: Nest, loops: Sequence[OuterLoop], steps: int, least: int
) -> PanelPrefetch | None:
    """The shares of each group of steps, or None where there are too few to fetch a panel.

    `steps` are those of a group, `least` how many tiles have to share a panel.
    """
    depends = {axis for axis, _ in panels.steps}
    first = len(loops)
    while first and _passes(loops[first - 1], nest, depends):
        first -= 1
    readers = tuple(position for position in range(first, len(loops)) if loops[position].count != 1)
    repeated = prod(least_count(loops[position].count) for position in readers)
    if repeated < least:
        return None
    lines = _lines(panels)
    if panels.pieces.count > 1:
        in_group = -(-lines // repeated)
        shares = -(-lines // in_group)
        if in_group * steps > MOST_PANEL_LINES:
            return None
        return PanelPrefetch(panels, readers, steps, in_group, 1, shares, shares == repeated)
    groups = prod(axis.extent for axis in nest.reduction) // steps
    if lines > MOST_PANEL_LINES * groups * repeated:
        return None
    in_group = -(-lines // (groups * repeated))
    shares = -(-lines // (in_group * repeated))
    apart = shares * repeated
    return PanelPrefetch(panels, readers, steps, in_group, apart, shares, shares == groups)


def _lines(panels: Panels) -> int:
    """The lines that a piece lies in; pieces that begin anywhere touch one more."""
    pieces, line = panels.pieces, elements_of_line(panels.tensor)
    starts = (panels.offset, panels.next, pieces.apart, *(apart for _, apart in panels.steps))
    torn = pieces.count > 1 and any(start % line for start in starts)
    return -(-pieces.size // line) + torn


def _passes(loop: OuterLoop, nest: Nest, depends: set[Axis]) -> bool:
    """Whether all iterations of a loop read the same panel."""
    return loop.count == 1 or nest.axes[loop.place] not in depends
