"""What is asked for before it is wanted: one record, and the one way to write it.

    for turn in loops:                                for turn in loops:
      steps of a tile                                   if turn < used
                                                          prefetch the turn's lines of a tensor
                                                ->      steps of a tile

Panels of the next tile, what other nests of a group touch, operands of epilogues, right operands of
intrinsics and rows of the next block differ in which lines a turn asks for, and in which turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.loops.prefetch.limits import OPEN_TILES
from relay_tune.schedule.loops.tile_points import TilePosition
from relay_tune.tensor.expression import INDEX, Axis, Scalar, Tensor, binary, literal
from relay_tune.tensor.loops import Block, Branch, Prefetch, Statement
from relay_tune.tensor.size import is_symbolic

Limit = tuple[Scalar, int]
"""The number of a turn, and the number of turns that ask for anything."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """What a turn asks for.

    Attributes:
        lines: tensors, and the element of each with which a line begins.
        limits: in which turns: all of these numbers have to be below theirs.
        near: whether it is to go into L1.
        for_write: whether it will be written.
    """

    lines: tuple[tuple[Tensor, Scalar], ...]
    limits: tuple[Limit, ...] = ()
    near: bool = False
    for_write: bool = False

    @property
    def prefetches(self) -> tuple[Prefetch, ...]:
        """One statement for each line."""
        first = literal(0, INDEX)
        return tuple(
            Prefetch(tensor, (*[first] * (len(tensor.shape) - 1), at), self.for_write, self.near)
            for tensor, at in self.lines
        )

    @property
    def statement(self) -> Statement:
        """All of them, in the turns that ask."""
        body: Statement = Block(self.prefetches)
        for number, turns in self.limits:
            body = Branch(binary("lt", number, turns), body)
        return body


@dataclass(frozen=True, slots=True)
class Turns:
    """Nested loops, each iteration of which is a turn; of open ones the first few are."""

    loops: Sequence[Axis]

    @property
    def count(self) -> int:
        """How many turns there are."""
        return prod(least_count(loop.extent) for loop in self.loops)

    @property
    def number(self) -> Scalar:
        """Which turn it is, counted from the first."""
        number: Scalar = literal(0, INDEX)
        for loop in self.loops:
            number = number * least_count(loop.extent) + loop
        return number

    def divided(self, pieces: int, waiting: int = 0) -> tuple[int, tuple[Limit, ...]]:
        """How many of so many pieces each turn asks for, and in which turns: none while waiting."""
        in_turn = -(-pieces // (self.count - waiting))
        end = waiting + -(-pieces // in_turn)
        begun: tuple[Limit, ...] = ((waiting - self.number, 1),) if waiting else ()
        return in_turn, begun if end == self.count else (*begun, (self.number, end))


def elements_of_line(tensor: Tensor) -> int:
    """How many elements of a tensor lie in a line of the caches."""
    return LINE_BYTES // DTYPES[tensor.dtype].itemsize


def least_count(count: int) -> int:
    """How often a loop runs at least while something is fetched."""
    return OPEN_TILES if is_symbolic(count) else count


def digits(number: Scalar, counts: Sequence[int]) -> Iterator[Scalar]:
    """The iterations of nested loops of which there have been `number`, the innermost first."""
    for position, count in enumerate(reversed(counts), 1):
        yield number if position == len(counts) else number % count
        number = number // count


@dataclass(frozen=True, slots=True)
class Site:
    """Where fetches stand: in front of a group of reduction steps of a tile.

    Attributes:
        bindings: where the tile stands.
        tiles: the loops over tiles.
        groups: the loops over groups of steps.
    """

    bindings: Mapping[Axis, TilePosition]
    tiles: Sequence[Axis]
    groups: Sequence[Axis]
