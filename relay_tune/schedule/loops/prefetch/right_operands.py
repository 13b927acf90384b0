"""Fetching the next blocks' right operands while the tiles before them are computed.

for blocks of columns
  for row of tiles                             reads the same right operands again
    for steps
      products of the step, and between them
        fetch this row's share of what the step reads for the next blocks

Shares are lines of 64 bytes: where more tiles than these share an operand, it comes soon enough.
Where loops around those over blocks read all blocks again, only the first round asks, if they stay
near: 256 channels of 3x3 taps on 14x14, line by line, took 126 us with fetches in each line and 68
without any.
Constants of a network come from memory: with 512 channels on 7x7, 9.4 MB of them, a convolution
took 1404 us without and 1053 with fetches, one thread, and 794 and 547 with two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.match import IntrinsicMatch, offset_moves, offset_of
from relay_tune.schedule.loops.prefetch.fetch import Fetch, Limit, Turns
from relay_tune.schedule.loops.prefetch.limits import STAYING_BYTES
from relay_tune.schedule.outer_loops import OuterLoop, outer_loops
from relay_tune.tensor.expression import Axis, Scalar, Tensor
from relay_tune.tensor.size import is_symbolic, nominal
from relay_tune.tensor.walk import substitute


@dataclass(frozen=True, eq=False, slots=True)
class Progress:
    """How far a thread is.

    Attributes:
        number: how many iterations of the loops that threads share it has done.
        shared: how many of the outer loops these are.
    """

    number: Scalar
    shared: int


def sharing_tiles(match: IntrinsicMatch, choice: TileChoice) -> tuple[int, ...] | None:
    """The positions of the loops over tiles that read what one block of columns needs.

    None if nothing can be fetched for them. Something can where the next tile is of another block
    only after all that share this one, which are a known number, and all parts are in one tensor.
    """
    if len({right.tensor for _, right in match.terms}) > 1:
        return None
    loops = outer_loops(match.nest.axes, choice)
    over_blocks = [n for n, loop in enumerate(loops) if _is_block(match, loop)]
    if len(over_blocks) != 1 or loops[over_blocks[0]].tiles > 1:
        return None
    inner = range(over_blocks[0] + 1, len(loops))
    if any(is_symbolic(loops[n].count) for n in inner):
        return None
    inside = [n for n in inner if loops[n].count > 1]
    is_spread = prod(loops[n].count for n in inside) <= _lines_of_step(match)
    return tuple(inside) if is_spread else None


def first_round(
    match: IntrinsicMatch, choice: TileChoice, outer: Sequence[Axis], progress: Progress
) -> tuple[Limit, ...]:
    """In which iterations of the loops over tiles blocks are read for the first time.

    Of loops that threads share, that is counted from where a thread begins. Blocks that are no
    longer near when they are read again are asked for in each round.
    """
    axes = match.nest.axes
    loops = outer_loops(axes, choice)
    around = loops[: next(n for n, loop in enumerate(loops) if _is_block(match, loop))]
    right = match.terms[0][1]
    if nominal(prod(right.tensor.shape)) * DTYPES[right.dtype].itemsize > STAYING_BYTES:
        return ()
    depends = [offset_moves(right, axes[loop.place]) for loop in around]
    again = [n for n, loop in enumerate(around) if loop.count != 1 and not depends[n]]
    limits: list[Limit] = [(outer[n], 1) for n in again]
    shared = [n for n in again if n < progress.shared]
    if shared and not any(depends[: shared[-1]]):
        period = prod(loop.count for loop in loops[shared[-1] + 1 : progress.shared])
        limits = [(progress.number, period), *limits[len(shared) :]]
    return tuple(limits)


def _lines_of_step(match: IntrinsicMatch) -> int:
    """Lines of the right operands of one block in a step."""
    pattern = match.pattern
    return match.register_steps * pattern.columns // _line(match) * match.right_parts


def next_blocks(
    match: IntrinsicMatch,
    sharing: Sequence[int],
    at: Mapping[Axis, Scalar],
    outer: Sequence[Axis],
    columns: int,
    limits: tuple[Limit, ...],
) -> Fetch:
    """The lines of the next `columns` blocks that a step asks for, where `limits` allow it.

    `at` is where it stands itself.
    """
    assert match.block is not None
    turns = Turns([outer[position] for position in sharing])
    number, share = turns.number, -(-_lines_of_step(match) // turns.count)
    right = min((right for _, right in match.terms), key=offset_of)
    lines: list[tuple[Tensor, Scalar]] = []
    for column in range(columns):
        block = at[match.block] + columns + column
        start = substitute(right.indices[0], {**at, match.block: block})
        for line in range(share):
            lines.append((right.tensor, start + (number * share + line) * _line(match)))
    return Fetch(tuple(lines), limits)


def _is_block(match: IntrinsicMatch, loop: OuterLoop) -> bool:
    return match.nest.axes[loop.place] is match.block and loop.count > 1


def _line(match: IntrinsicMatch) -> int:
    """Elements of the right operand in a line."""
    return LINE_BYTES // DTYPES[match.pattern.right].itemsize
