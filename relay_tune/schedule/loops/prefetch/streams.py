"""Constants of a narrow type that a nest streams through, asked for some lines ahead.

    for b, k in blocks of a tile:
      prefetch q[.. + 4096] into the second cache
      y[0:48] += x[b, k] * float(q[b, k, 0:48])

Processors stop asking by themselves at the end of each page, and what is converted as it is read
comes slower than plain loads would ask for it: too little is on its way for memory to be busy.
Panels lie one behind the other, so that the end of one asks for the beginning of the next. Lines go
into the second cache, which can wait for many more than the first: those that the first one waits
for would hold up the loads of the own step.

Where a step computes several sums beside each other, each line is asked for by itself between them:
lines that are asked for together wait for each other, and so do the loads behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.loops.packed_loads import PackedLoad
from relay_tune.schedule.loops.prefetch.fetch import Fetch, Site
from relay_tune.schedule.loops.prefetch.limits import LEAST_FETCHED, STREAM_AHEAD
from relay_tune.schedule.nests.conversions import conversions
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.expression import INDEX, Axis, Load, Scalar, Tensor, binary, literal
from relay_tune.tensor.index import flat_index
from relay_tune.tensor.loops import Branch, Statement


@dataclass(frozen=True, slots=True)
class StreamPrefetch:
    """Which constant is asked for ahead.

    Attributes:
        load: reads it, packed.
        innermost: the innermost reduction axis.
        steps: of it that ask together: a single one where it reads whole lines, so that they are
            asked for one after the other, else those of a group.
    """

    load: PackedLoad
    innermost: Axis
    steps: int

    @property
    def is_of_steps(self) -> bool:
        """Whether each step asks, not the first of a group."""
        return self.steps == 1

    @property
    def is_spread(self) -> bool:
        """Whether the steps that read the same lines stand together, so that each asks for some."""
        return self.steps == self._sharing

    @property
    def _sharing(self) -> int:
        """How many steps read the same lines."""
        return 1 if self.innermost in self.load.plain else self.innermost.extent

    def between(self, site: Site, parts: int) -> list[list[Statement]]:
        """What is asked for in front of each part of a step: all lines, one after the other."""
        (whole,) = self.fetches(site)
        turns, lines = self._sharing * parts, whole.lines
        found: list[list[Statement]] = [[] for _ in range(parts)]
        for turn in range(turns):
            begin, end = (len(lines) * n // turns for n in (turn, turn + 1))
            if begin == end:
                continue
            asked, step = Fetch(lines[begin:end]).statement, turn // parts
            is_own = binary("eq", self.innermost, step)
            found[turn % parts].append(asked if self._sharing == 1 else Branch(is_own, asked))
        return found

    def fetches(self, site: Site) -> Iterator[Fetch]:
        """The lines ahead of those of the own steps; the last group is one or several."""
        tensor, size = self.load.constant.tensor, DTYPES[self.load.constant.tensor.dtype].itemsize
        first: dict[Axis, Scalar] = {self.innermost: site.groups[-1] * self.steps}
        numbers = [site.bindings[axis].number for axis in self.load.tiled]
        steps = [first.get(axis, axis) for axis in self.load.plain]
        inside = [literal(0, INDEX)] * len(self.load.tiled)
        begin = flat_index(tensor.shape, (*numbers, *steps, *inside))
        points = prod(tensor.shape[len(numbers) + len(steps) :])
        if self.innermost in self.load.plain:
            points *= self.steps
        lines = -(-points * size // LINE_BYTES)
        ahead = [(STREAM_AHEAD + line * LINE_BYTES) // size for line in range(lines)]
        yield Fetch(tuple((tensor, begin + each) for each in ahead))


def stream_prefetch(
    nest: Nest,
    choice: TileChoice,
    constants: frozenset[Tensor],
    reduction: Sequence[Axis],
    packed: Mapping[Load, PackedLoad],
) -> StreamPrefetch | None:
    """What a nest whose tiles have one row asks for ahead; None if it reads nothing narrow."""
    rows = [n for position, n in enumerate(choice.tile) if position != choice.vector]
    if prod(rows) != 1 or not reduction or not conversions(nest, constants):
        return None
    largest = max(packed.values(), key=lambda each: each.constant.recipe.size, default=None)
    if largest is None:
        return None
    tensor = largest.constant.tensor
    itemsize = DTYPES[tensor.dtype].itemsize
    if largest.constant.recipe.size * itemsize < LEAST_FETCHED:
        return None
    innermost = reduction[-1]
    steps = unrolled_extents(reduction, choice.unroll)[innermost]
    if innermost in largest.plain and not _bytes_of_step(largest) % LINE_BYTES:
        steps = 1
    return StreamPrefetch(largest, innermost, steps)


def _bytes_of_step(load: PackedLoad) -> int:
    """The elements of a packed constant that a tile reads in a step."""
    tensor, inside = load.constant.tensor, len(load.tiled) + len(load.plain)
    return prod(tensor.shape[inside:]) * DTYPES[tensor.dtype].itemsize
