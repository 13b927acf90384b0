"""What a group asks for beside a nest on an intrinsic, spread over the nests that have time.

    for block:                                    for block:
      a' = parts of a[block]                        a' = parts of a[block]    prefetch a[block + 1],
      b' = parts of b[block]                 ->     b' = parts of b[block]      b[block + 1],
      y += a' * b'    prefetch a[block + 1],        y += a' * b'                line by line,
                        b[block + 1]                                            all the time

Copies that convert what they store have instructions to hide transfers behind, as products on an
intrinsic have, and may take longer than these. Where the products alone ask, memory is idle while
the copies run, and the products wait for it. Each nest asks for a share by its time.

Before a line is written, it is read. Copies first ask for lines of the block's results, since the
products, which store them, have no time to wait for these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.loops.prefetch.limits import FEWEST_OPERATIONS
from relay_tune.schedule.loops.prefetch.neighbours import TouchedRows
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.operation_count import (
    operation_count,
    shared_operation_count,
    written_out_axes,
)
from relay_tune.schedule.outer_loops import outer_loops


def shares_of_time(nests: Sequence[Nest], busiest: int) -> dict[int, float]:
    """Which nests of a group ask for what it touches, and for what share of it.

    The busiest nest alone where it is on no intrinsic; else also those before it that compute
    enough.
    """
    match = intrinsic_match(nests[busiest])
    if match is None:
        return {busiest: 1.0}
    lanes = match.pattern.columns
    steps = nests[busiest].points * len(match.terms) / (lanes * match.register_steps)
    times = {busiest: steps * match.pattern.beside}
    for position, nest in enumerate(nests[:busiest]):
        if _is_worth_asking(nest):
            times[position] = nest.points * _operations(nest) / lanes
    return {position: time / sum(times.values()) for position, time in times.items()}


def spread(
    nests: Sequence[Nest],
    choices: Sequence[TileChoice],
    busiest: int,
    touched: Sequence[TouchedRows],
    stored: TouchedRows | None = None,
) -> list[tuple[TouchedRows, ...]]:
    """What each nest of a group asks for, all of `touched` together.

    Each tile of a nest before the busiest asks for as many lines, at most one for each of its
    vectors. The first ones are of what the busiest has `stored` at the end of the block: what is
    left of that comes when it stores.
    """
    found: list[list[TouchedRows]] = [[] for _ in nests]
    touched = touched if stored is None else (stored, *touched)
    begun = [0] * len(touched)
    lines = sum(rows.all_lines for rows in touched)
    for position, share in shares_of_time(nests, busiest).items():
        if position == busiest:
            continue
        tiles, left = _tiles(nests[position], choices[position])
        left = min(left, round(lines * share / tiles))
        for number, rows in enumerate(touched):
            in_turn = min(left, (rows.all_lines - begun[number]) // tiles)
            if in_turn:
                begin, end = begun[number], begun[number] + in_turn * tiles
                found[position].append(replace(rows, asked=(begin, end)))
                begun[number], left = end, left - in_turn
    for rows, begin in zip(touched, begun, strict=True):
        if begin < rows.all_lines and rows is not stored:
            found[busiest].append(replace(rows, asked=(begin, rows.all_lines)) if begin else rows)
    return [tuple(each) for each in found]


def _is_worth_asking(nest: Nest) -> bool:
    """Whether the points of a nest can ask for lines, and compute enough beside it."""
    if nest.body is not None or nest.inside is not None:
        return False
    return operation_count(nest.result, reduced=False) >= FEWEST_OPERATIONS


def _operations(nest: Nest) -> float:
    """Vector instructions of a point, with its store; positions that share a value do it once."""
    written_out = written_out_axes(nest)
    shared = operation_count(nest.result, reduced=False) / prod(a.extent for a in written_out)
    return 1.0 + max(shared, shared_operation_count(nest.result, written_out))


def _tiles(nest: Nest, choice: TileChoice) -> tuple[int, int]:
    """How many tiles a nest has, and how many vectors a whole one."""
    loops = outer_loops(nest.axes, choice)
    vectors = [
        -(-tile // choice.lanes) if position == choice.vector else tile
        for position, tile in enumerate(choice.tile)
    ]
    return prod(loop.count for loop in loops), prod(vectors)
