"""The loops of a group of nests, with a choice for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.loops.loop_shapes import loop_over, parallel_loop
from relay_tune.schedule.loops.prefetch.neighbours import (
    TouchedRows,
    fetched_beside,
    stored_rows,
)
from relay_tune.schedule.loops.prefetch.next_block import ReadAhead, read_ahead
from relay_tune.schedule.loops.prefetch.spread import spread
from relay_tune.schedule.loops.tile import TiledNest, tile_nest
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.row_groups.sibling_reductions import joined, sibling_runs
from relay_tune.tensor.expression import INDEX, Axis, Scalar, Tensor, binary, literal
from relay_tune.tensor.loops import Allocate, Block, Branch, Let, Statement
from relay_tune.tensor.size import is_symbolic, nominal

SERIAL_POINTS = 100_000
"""A group that evaluates fewer expressions stays on one thread: a barrier costs as much."""


def row_block_loops(
    blocks: RowBlocks, choices: Sequence[TileChoice], constants: frozenset[Tensor]
) -> TiledNest:
    """The group as one loop over its blocks, in parallel unless there is little to do."""
    number = Axis("block", blocks.whole + blocks.at_end)
    whole = _nests(blocks.nests, choices, constants, blocks)
    packed = [*blocks.packed, *whole.packed]
    body = _from(blocks.base, number * blocks.rows, whole.body)
    if blocks.last:
        last = _nests(blocks.last, choices, constants, blocks)
        packed += last.packed
        full = literal(blocks.whole, INDEX)
        first = full * blocks.rows + (number - full) * blocks.last_rows
        at_end = _from(blocks.base, first, last.body)
        body = Branch(binary("lt", number, blocks.whole), body, at_end)
    for buffer in blocks.buffers:
        body = Allocate(buffer, body)
    return TiledNest(_around((*blocks.outer, number), body, blocks), packed)


def points(blocks: RowBlocks) -> int:
    """How often the bodies of a group's nests are evaluated in all."""
    return sum(nest.points for nest in blocks.nests) * blocks.blocks


def _around(numbers: Sequence[Axis], body: Statement, blocks: RowBlocks) -> Statement:
    is_large = nominal(points(blocks)) >= SERIAL_POINTS and blocks.blocks != 1
    apart = len(numbers) if blocks.apart is None else blocks.apart
    shared = numbers[:apart] if is_large else ()
    for axis in reversed(numbers[len(shared) :]):
        body = loop_over(axis, body)
    return parallel_loop(shared, body) if shared else body


def _from(base: Axis, first: Scalar, body: Statement) -> Statement:
    return Let(base, first, body)


def _nests(
    nests: Sequence[Nest],
    choices: Sequence[TileChoice],
    constants: frozenset[Tensor],
    blocks: RowBlocks,
) -> TiledNest:
    fitting = [_fitting(choice, nest) for choice, nest in zip(choices, nests, strict=True)]
    tiled = [
        tile_nest(nest, choice, constants, fetches)
        for nest, choice, fetches in zip(
            nests, fitting, _fetched(nests, fitting, constants, blocks), strict=True
        )
    ]
    packed = [constant for part in tiled for constant in part.packed]
    parts = iter(zip(tiled, fitting, strict=True))
    bodies = [_together(list(islice(parts, len(run)))) for run in sibling_runs(nests)]
    return TiledNest(Block(tuple(bodies)), packed)


def _fetched(
    nests: Sequence[Nest],
    choices: Sequence[TileChoice],
    constants: frozenset[Tensor],
    blocks: RowBlocks,
) -> list[tuple[TouchedRows | ReadAhead, ...]]:
    """What each nest of a block fetches for its neighbours and for the next block.

    Nothing in a block of an open number of rows, which is the last.
    """
    if any(is_symbolic(nest.points) for nest in nests):
        return [()] * len(nests)
    positions = (*blocks.outer, blocks.base)
    busiest, touched = fetched_beside(nests, positions, blocks.rows, constants)
    beside = frozenset(part.tensor for part in touched)
    ahead = read_ahead(nests, blocks.base, blocks.rows, beside)
    stored = stored_rows(nests[busiest], positions) if touched else None
    asked = spread(nests, choices, busiest, touched, stored)
    return [(*own, *each) for own, each in zip(asked, ahead, strict=True)]


def _together(parts: Sequence[tuple[TiledNest, TileChoice]]) -> Statement:
    """The loops of siblings, together where they were tiled alike."""
    (first, choice), *others = parts
    body = first.body
    for tiled, other in others:
        body = joined(body, tiled.body) if other == choice else Block((body, tiled.body))
    return body


def _fitting(choice: TileChoice, nest: Nest) -> TileChoice:
    """The choice for a nest that may have fewer rows than it was made for, on one thread."""

    def fitting(values: Sequence[int]) -> tuple[int, ...]:
        pairs = zip(values, (axis.extent for axis in nest.axes), strict=True)
        return tuple(value if is_symbolic(limit) else min(value, limit) for value, limit in pairs)

    return replace(choice, tile=fitting(choice.tile), blocks=fitting(choice.blocks), parallel=0)
