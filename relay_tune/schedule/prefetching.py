"""Weights of the next tile, asked for while the present one is computed.

    before:  for j_t: for i_t: for k_o: { steps of tile (j_t, i_t) on panel w[j_t] }
    after:   for j_t: for i_t: for k_o: { prefetch part (i_t, k_o) of panel w[j_t + 1]; steps }

A packed panel is read once from afar and then again and again from the second cache, by all tiles
that share it. Its first reader would wait for memory; spread over the steps of the tiles before,
the transfer hides behind arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.nest import Nest
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.packed_loads import PackedLoad
from relay_tune.tensor.expression import INDEX, Axis, Scalar, binary, literal
from relay_tune.tensor.loops import Block, Branch, Prefetch, Statement
from relay_tune.tensor.size import is_symbolic

LINE_BYTES = 64
ELEMENT_BYTES = 4
MOST_LINES = 16
"""For each written-out group of reduction steps; more would take the place of arithmetic."""

OPEN_TILES = 4
"""An open axis may have any number of tiles: the first so many fetch the next panel."""


@dataclass(frozen=True, slots=True)
class PanelPrefetch:
    """Which panels are fetched ahead, and how much in each group of reduction steps.

    Attributes:
        load: of the packed constant.
        readers: the positions of the loops over the tiles that read one panel, outermost first.
        elements: of the next panel that one group of steps fetches.
    """

    load: PackedLoad
    readers: tuple[int, ...]
    elements: int


def panel_prefetch(
    nest: Nest, choice: TileChoice, reduction: Sequence[Axis], packed: Sequence[PackedLoad]
) -> PanelPrefetch | None:
    """What to fetch ahead, or None where several tiles in a row do not share a panel."""
    unrolled = unrolled_extents(reduction, choice.unroll)
    if len(packed) != 1 or not reduction or any(unrolled[axis] > 1 for axis in reduction[:-1]):
        return None
    load = packed[0]
    loops = outer_loops(nest.axes, choice)
    first = len(loops)
    while first and nest.axes[loops[first - 1].place] not in load.tiled:
        first -= 1
    readers = tuple(range(first, len(loops)))
    if any(is_symbolic(axis.extent) for axis in reduction):
        return None
    groups = prod(axis.extent for axis in reduction) // unrolled[reduction[-1]]
    repeated = prod(_least_count(loops[place].count) for place in readers)
    shares = groups * repeated
    recipe = load.constant.recipe
    panel = prod(a.extent for a in recipe.plain) * prod(a.tile for a in recipe.tiled)
    elements = -(-panel // max(shares, 1))
    if repeated < 2:
        return None
    if elements > MOST_LINES * LINE_BYTES // ELEMENT_BYTES:
        return None
    return PanelPrefetch(load, readers, elements)


def prefetch_statement(
    plan: PanelPrefetch,
    panel: Mapping[Axis, Scalar],
    readers: Sequence[Axis],
    groups: Sequence[Axis],
) -> Statement:
    """Fetch a share of the panel after the present one.

    `panel` are the numbers of the present tile on the axes of the panel, `readers` the loops over
    the tiles that share it, `groups` the loops over groups of reduction steps.
    """
    tensor, recipe = plan.load.constant.tensor, plan.load.constant.recipe
    number: Scalar = literal(0, INDEX)
    for axis, packed in zip(plan.load.tiled, recipe.tiled, strict=True):
        number = number * packed.count + panel[axis]
    share: Scalar = literal(0, INDEX)
    for loop in (*readers, *groups):
        share = share * _least_count(loop.extent) + loop
    size = prod(a.extent for a in recipe.plain) * prod(a.tile for a in recipe.tiled)
    start = (number + 1) * size + share * plan.elements
    outermost = [literal(0, INDEX)] * (len(tensor.shape) - 1)
    line = LINE_BYTES // ELEMENT_BYTES
    lines = range(0, plan.elements, line)
    fetched: Statement = Block(tuple(Prefetch(tensor, (*outermost, start + at)) for at in lines))
    for loop in readers:
        if is_symbolic(loop.extent):
            fetched = Branch(binary("lt", loop, OPEN_TILES), fetched)
    return fetched


def _least_count(count: int) -> int:
    """How often a loop runs at least while a panel is fetched."""
    return OPEN_TILES if is_symbolic(count) else count
