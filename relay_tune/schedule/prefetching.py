"""Operands of the next tile, asked for while the present one is computed.

    before:  for j_t: for i_t: for k_o: { steps of tile (j_t, i_t) on panel w[j_t] }
    after:   for j_t: for i_t: for k_o: { prefetch part (i_t, k_o) of panel w[j_t + 1]; steps }

A panel is what a tile reads of an operand where that lies in one piece: packed weights, columns
that were copied (see `panels`), whole rows. It is read once from afar and then again and again from
the second cache, by all tiles that share it. Its first reader would wait for memory; spread over
the steps of the tiles before, the transfer hides behind arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.nest import Nest
from relay_tune.schedule.outer_loops import OuterLoop, outer_loops
from relay_tune.schedule.packed_loads import PackedLoad
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import INDEX, Axis, Load, Scalar, Tensor, binary, literal
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.loops import Block, Branch, Prefetch, Statement
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads

LINE_ELEMENTS = 16
MOST_LINES = 16
"""For each written-out group of reduction steps; more would take the place of arithmetic."""

OPEN_TILES = 4
"""An open axis may have any number of tiles: the first so many fetch the next panel."""


@dataclass(frozen=True, slots=True)
class Panels:
    """The pieces of an operand that the tiles of a nest read.

    Attributes:
        tensor: the operand; its elements are counted from the first one.
        size: the elements of a piece.
        offset: the first element of the first piece.
        steps: the axes of the nest that a piece depends on, and how many elements apart the pieces
            of two neighbouring tiles on each of them begin.
        next: how many elements behind a piece the one begins that is read next.
    """

    tensor: Tensor
    size: int
    offset: int
    steps: tuple[tuple[Axis, int], ...]
    next: int


@dataclass(frozen=True, slots=True)
class PanelPrefetch:
    """Which panels are fetched ahead, and how much in each group of reduction steps.

    Attributes:
        panels: of one operand.
        readers: the positions of the loops over the tiles that read one panel, outermost first.
        lines: of the next panel that one group of steps fetches.
        groups: how many of a tile's groups fetch, the first ones.
        is_every: whether these are all of them.
    """

    panels: Panels
    readers: tuple[int, ...]
    lines: int
    groups: int
    is_every: bool


def panel_prefetch(
    nest: Nest,
    choice: TileChoice,
    reduction: Sequence[Axis],
    packed: Mapping[Load, PackedLoad],
) -> PanelPrefetch | None:
    """What to fetch ahead, or None where several tiles in a row share no panel.

    `packed` are the loads that read packed constants: these go before others.
    """
    unrolled = unrolled_extents(reduction, choice.unroll)
    if not reduction or any(unrolled[axis] > 1 for axis in reduction[:-1]):
        return None
    if any(is_symbolic(axis.extent) for axis in reduction) or len(packed) > 1:
        return None
    groups = prod(axis.extent for axis in reduction) // unrolled[reduction[-1]]
    loops = outer_loops(nest.axes, choice)
    for panels in _operands(nest, choice, loops, packed):
        found = _fetched(panels, nest, loops, groups)
        if found is not None:
            return found
    return None


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
    return Panels(load.constant.tensor, size, 0, tuple(reversed(steps)), size)


def _panels_in_place(
    load: Load, nest: Nest, choice: TileChoice, loops: Sequence[OuterLoop]
) -> Panels | None:
    """The panels of an operand that is read where it lies, if each is one piece."""
    form = axis_affine(load.indices[0])
    if form is None:
        return None
    tiles = dict(zip(nest.axes, choice.tile, strict=True))
    used = [axis for axis in (*nest.axes, *nest.reduction) if form.coefficient(axis)]
    if len(used) != len(form.terms) or any(is_symbolic(axis.extent) for axis in used):
        return None
    size = piece_size(form, {**tiles, **{axis: axis.extent for axis in nest.reduction}})
    if size is None:
        return None
    walked = [nest.axes[loop.place] for loop in reversed(loops) if loop.count != 1]
    innermost = next((axis for axis in walked if axis in used), None)
    if innermost is None:
        return None
    steps = tuple((a, form.coefficient(a) * tiles[a]) for a in nest.axes if a in used)
    return Panels(load.tensor, size, form.constant, steps, dict(steps)[innermost])


def piece_size(form: Affine, extents: Mapping[Axis, int]) -> int | None:
    """How many elements a box of axes reads, if they follow each other in memory."""
    size = 1
    for axis in sorted((a for a in extents if form.coefficient(a)), key=form.coefficient):
        count = min(extents[axis], axis.extent)
        if count > 1 and form.coefficient(axis) != size:
            return None
        size *= count
    return size


def _fetched(
    panels: Panels, nest: Nest, loops: Sequence[OuterLoop], groups: int
) -> PanelPrefetch | None:
    """The shares of each group of steps, or None where there are too few to fetch a panel."""
    depends = {axis for axis, _ in panels.steps}
    first = len(loops)
    while first and _passes(loops[first - 1], nest, depends):
        first -= 1
    readers = tuple(place for place in range(first, len(loops)) if loops[place].count != 1)
    repeated = prod(_least_count(loops[place].count) for place in readers)
    lines = -(-panels.size // LINE_ELEMENTS)
    if repeated < 2 or lines > MOST_LINES * groups * repeated:
        return None
    in_group = -(-lines // max(groups * repeated, 1))
    fetching = -(-lines // (in_group * repeated))
    return PanelPrefetch(panels, readers, in_group, fetching, fetching == groups)


def _passes(loop: OuterLoop, nest: Nest, depends: set[Axis]) -> bool:
    """Whether all iterations of a loop read the same panel."""
    return loop.count == 1 or nest.axes[loop.place] not in depends


def prefetch_statement(
    plan: PanelPrefetch,
    tile: Mapping[Axis, Scalar],
    readers: Sequence[Axis],
    groups: Sequence[Axis],
) -> Statement:
    """Fetch a share of the panel after the present one.

    `tile` are the numbers of the present tile on the axes of the panel, `readers` the loops over
    the tiles that share it, `groups` the loops over groups of reduction steps.
    """
    panels = plan.panels
    start: Scalar = literal(panels.offset + panels.next, INDEX)
    for axis, apart in panels.steps:
        start = start + tile[axis] * apart
    group = _number(groups)
    share = _number(readers) * plan.groups + group
    start = start + share * (plan.lines * LINE_ELEMENTS)
    outermost = [literal(0, INDEX)] * (len(panels.tensor.shape) - 1)
    places = (start + line * LINE_ELEMENTS for line in range(plan.lines))
    fetched: Statement = Block(tuple(Prefetch(panels.tensor, (*outermost, at)) for at in places))
    if not plan.is_every:
        fetched = Branch(binary("lt", group, plan.groups), fetched)
    for loop in readers:
        if is_symbolic(loop.extent):
            fetched = Branch(binary("lt", loop, OPEN_TILES), fetched)
    return fetched


def _number(loops: Sequence[Axis]) -> Scalar:
    """Which iteration of nested loops runs, counted from the first."""
    number: Scalar = literal(0, INDEX)
    for loop in loops:
        number = number * _least_count(loop.extent) + loop
    return number


def _least_count(count: int) -> int:
    """How often a loop runs at least while a panel is fetched."""
    return OPEN_TILES if is_symbolic(count) else count
