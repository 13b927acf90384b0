"""The choices of a nest on matrix registers: its tile, the order of its loops, blocks of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.match import NestProduct, fits
from relay_tune.schedule.nest import Nest
from relay_tune.tensor.matrix_registers import COLUMNS

ROW_COUNTS, BLOCK_TILES = (1, 2, 3, 4, 5), (1, 2, 3)
"""Registers along the sides of a tile; more leave no place for operands."""

MOVED_LOOPS = 3
"""Loops whose order is chosen: the innermost ones but that over columns."""

BLOCK_COUNTS = (1, 2, 4, 8)


def matrix_alternatives(nest: Nest, product: NestProduct) -> dict[str, tuple[object, ...]]:
    """The values of each choice of such a nest."""
    places = {axis: place for place, axis in enumerate(nest.axes)}
    row, column = places[product.row], places[product.column]
    choices: dict[str, tuple[object, ...]] = {
        "vector": ((column, COLUMNS),),
        "vectors": (1,),
        f"tile{row}": _extents(ROW_COUNTS, product.row.extent, product.register_rows),
    }
    if product.block is not None:
        choices[f"tile{places[product.block]}"] = _extents(BLOCK_TILES, product.block.extent, 1)
    choices["order"] = tuple(_orders(len(nest.axes), column))
    choices[f"blocks{row}"] = tuple(
        n for n in BLOCK_COUNTS if n == 1 or product.row.extent // n >= 4 * product.register_rows
    )
    choices["reduction_order"] = (tuple(range(len(nest.reduction))),)
    choices["unroll"] = (1,)
    choices["prefetch"] = (False, True)
    return choices


def matrix_misfit(choice: TileChoice, nest: Nest, product: NestProduct) -> str | None:
    """Why a choice cannot be applied to such a nest, or None if it can."""
    row, blocks = tile_registers(choice, nest, product)
    if nest.axes[choice.vector] is not product.column or choice.lanes != COLUMNS:
        return "vectors along another axis than the columns of matrix registers"
    if choice.unroll != 1:
        return "steps that are written out"
    if not fits(row, blocks, product.right_parts):
        return f"a tile of {row} x {blocks} matrix registers"
    sized = dict(zip(nest.axes, choice.tile, strict=True))
    others = [n for axis, n in sized.items() if axis not in (product.row, product.block)]
    if sized[product.column] != COLUMNS or sorted(others) != [1] * (len(others) - 1) + [COLUMNS]:
        return "a tile along axes that matrix registers do not have"
    if sized[product.row] < product.register_rows:
        return f"a tile of {sized[product.row]} rows of a matrix register"
    return None


def tile_registers(choice: TileChoice, nest: Nest, product: NestProduct) -> tuple[int, int]:
    """The registers of a tile along rows and columns."""
    sized = dict(zip(nest.axes, choice.tile, strict=True))
    blocks = 1 if product.block is None else sized[product.block]
    return -(-sized[product.row] // product.register_rows), blocks


def _extents(counts: Sequence[int], extent: int, step: int) -> tuple[int, ...]:
    """The tiles of some registers, the last of which may reach to the end of the axis."""
    return tuple(dict.fromkeys(min(n * step, extent) for n in counts))


def _orders(rank: int, column: int) -> Iterator[tuple[int, ...]]:
    """Loop orders: the innermost loops but that over columns, permuted among their places."""
    places = [place for place in range(rank) if place != column]
    fixed, moved = places[:-MOVED_LOOPS], places[-MOVED_LOOPS:]
    for arrangement in permutations(moved):
        yield (*fixed, *arrangement, column)
