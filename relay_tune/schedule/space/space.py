"""The choices that a nest leaves open.

A space is data: names with lists of values, and a rule for which combinations are sensible. Every
combination that passes the rule gives correct code; the rule only leaves out what cannot be fast
(more accumulators than registers, loop bodies larger than the instruction cache).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product

from relay_tune.machine.machine import Machine
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.access import NOTHING_NEAR, Near
from relay_tune.schedule.cost.analysis import NestAnalysis, analyse
from relay_tune.schedule.cost.estimate import Estimate, estimate
from relay_tune.schedule.cost.fetched_operands import asks_for_next_part, fetched_ahead
from relay_tune.schedule.cost.register_use import accumulators, register_use
from relay_tune.schedule.cost.tile import tile_of
from relay_tune.schedule.intrinsics.choices import tile_misfit
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.space.alternatives import alternatives
from relay_tune.schedule.space.parallel_loops import with_parallel
from relay_tune.tensor.expression import Tensor


@dataclass(frozen=True, eq=False, slots=True)
class NestSpace:
    """The open choices of one nest.

    Attributes:
        analysis: of the nest.
        machine: that it is estimated for.
        threads: that it will run on.
        repeats: how often a group runs the nest, a part of it for a last block of fewer rows; 0 if
            it runs by itself.
        names: of the choices.
        values: the alternatives of each, in an order in which neighbours are similar.
        opened: the positions of axes whose extents are those of an example.
    """

    analysis: NestAnalysis
    machine: Machine
    threads: int
    repeats: float
    names: tuple[str, ...]
    values: tuple[tuple[object, ...], ...]
    opened: tuple[int, ...] = ()

    def decode(self, chosen: Mapping[str, object]) -> TileChoice:
        """The choice that values stand for."""
        return self.with_ahead_and_parallel(self.tiles(chosen), bool(chosen["prefetch"]))

    def tiles(self, chosen: Mapping[str, object]) -> TileChoice:
        """The choice that values stand for, on one thread and without prefetches."""
        vector, lanes = pair(chosen["vector"])
        axes, written_out = self.analysis.nest.axes, self.analysis.written_out
        of_tiles, of_blocks = _names(len(axes))
        tile = [
            axis.extent if axis in written_out else min(integer(chosen.get(name, 1)), axis.extent)
            for axis, name in zip(axes, of_tiles, strict=True)
        ]
        if vector >= 0:
            tile[vector] = min(integer(chosen["vectors"]) * lanes, axes[vector].extent)
        return TileChoice(
            vector,
            lanes,
            tuple(tile),
            _integers(chosen["order"]),
            tuple([integer(chosen.get(name, 1)) for name in of_blocks]),
            _integers(chosen["reduction_order"]),
            integer(chosen["unroll"]),
            parallel=0,
        )

    def with_ahead_and_parallel(self, choice: TileChoice, prefetch: bool) -> TileChoice:
        """A choice of tiles with what it fetches ahead, if anything, and its parallel loops."""
        if prefetch:
            asking = choice.fetching()
            if fetched_ahead(self.analysis, choice, self.machine) or asks_for_next_part(
                self.analysis, asking
            ):
                choice = asking
        if self.repeats:
            return choice
        return with_parallel(self.analysis, choice, self.machine, self.threads, self.opened)

    @property
    def registers(self) -> int:
        """How many registers there are of the kind that results are summed in."""
        match = self.analysis.match
        return self.machine.vectors.registers if match is None else match.pattern.registers

    def estimate(self, choice: TileChoice) -> Estimate:
        """The estimate of a choice of this space, for all times that the nest runs."""
        return estimate(self.analysis, choice, self.machine).times(max(self.repeats, 1))

    def is_sensible(self, choice: TileChoice) -> bool:
        """Whether a choice can be fast at all."""
        match = self.analysis.match
        if match is not None:
            return tile_misfit(choice, match) is None
        registers = self.machine.vectors.registers
        tile = tile_of(self.analysis, choice, self.machine)
        if accumulators(tile) > registers:
            return False
        use = register_use(tile)
        return use.registers <= registers + 1 and use.code <= self.machine.coefficients.most_code

    def combinations(self) -> Iterator[dict[str, object]]:
        """All combinations, sensible or not."""
        for values in product(*self.values):
            yield dict(zip(self.names, values, strict=True))


@cache
def _names(axes: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the choices of so many axes: of their tiles, and of their blocks."""
    of_tiles, of_blocks = ([f"{name}{n}" for n in range(axes)] for name in ("tile", "blocks"))
    return tuple(of_tiles), tuple(of_blocks)


def nest_space(
    nest: Nest,
    constants: frozenset[Tensor],
    machine: Machine,
    threads: int,
    repeats: float = 0,
    near: Near = NOTHING_NEAR,
    opened: tuple[int, ...] = (),
) -> NestSpace:
    """The space of a nest, which a group may run `repeats` times on what is `near` a core."""
    analysis = analyse(nest, constants, near)
    choices = alternatives(analysis, machine, opened)
    names, values = tuple(choices), tuple(choices.values())
    return NestSpace(analysis, machine, threads, repeats, names, values, opened)


def pair(value: object) -> tuple[int, int]:
    """A value that is known to be two numbers."""
    first, second = _integers(value)
    return first, second


def integer(value: object) -> int:
    """A value that is known to be a number."""
    assert isinstance(value, int)
    return value


def _integers(value: object) -> tuple[int, ...]:
    assert isinstance(value, tuple)
    return value
