"""The choices of a nest on an intrinsic: its tile, the order of its loops, blocks of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.match import IntrinsicMatch

MOVED_LOOPS = 3
"""Loops whose order is chosen: the innermost ones but that over columns."""

BLOCK_COUNTS = (1, 2, 4, 8)


def tile_alternatives(match: IntrinsicMatch) -> dict[str, tuple[object, ...]]:
    """The values of each choice of such a nest."""
    nest, pattern = match.nest, match.pattern
    rows, columns = (tuple(range(1, most + 1)) for most in pattern.most_tile)
    positions = {axis: position for position, axis in enumerate(nest.axes)}
    row, column = positions[match.row], positions[match.column]
    choices: dict[str, tuple[object, ...]] = {
        "vector": ((column, pattern.columns),),
        "vectors": (1,),
        f"tile{row}": _extents(rows, match.row.extent, match.register_rows),
    }
    if match.block is not None:
        choices[f"tile{positions[match.block]}"] = _extents(columns, match.block.extent, 1)
    choices["order"] = tuple(_orders(len(nest.axes), column))
    choices[f"blocks{row}"] = tuple(
        n for n in BLOCK_COUNTS if n == 1 or match.row.extent // n >= 4 * match.register_rows
    )
    choices["reduction_order"] = (tuple(range(len(nest.reduction))),)
    choices["unroll"] = (1,)
    choices["prefetch"] = (False, True)
    return choices


def tile_misfit(choice: TileChoice, match: IntrinsicMatch) -> str | None:
    """Why a choice cannot be applied to such a nest, or None if it can."""
    nest, pattern = match.nest, match.pattern
    row, blocks = match.tile_registers(choice)
    if nest.axes[choice.vector] is not match.column or choice.lanes != pattern.columns:
        return f"vectors along another axis than the columns of {pattern.title}"
    if choice.unroll != 1:
        return "steps that are written out"
    if not match.fits(row, blocks):
        return f"a tile of {row} x {blocks} {pattern.title}"
    sized = dict(zip(nest.axes, choice.tile, strict=True))
    width = pattern.columns
    others = [n for axis, n in sized.items() if axis not in (match.row, match.block)]
    if sized[match.column] != width or sorted(others) != [1] * (len(others) - 1) + [width]:
        return f"a tile along axes that {pattern.title} do not have"
    if sized[match.row] < match.register_rows:
        return f"a tile of {sized[match.row]} rows of {pattern.title}"
    return None


def _extents(counts: Sequence[int], extent: int, step: int) -> tuple[int, ...]:
    """The tiles of some registers, the last of which may reach to the end of the axis."""
    return tuple(dict.fromkeys(min(n * step, extent) for n in counts))


def _orders(rank: int, column: int) -> Iterator[tuple[int, ...]]:
    """Loop orders: the innermost loops but that over columns, permuted among their positions."""
    positions = [position for position in range(rank) if position != column]
    fixed, moved = positions[:-MOVED_LOOPS], positions[-MOVED_LOOPS:]
    for arrangement in permutations(moved):
        yield (*fixed, *arrangement, column)
