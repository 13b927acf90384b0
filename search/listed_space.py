"""A space of which only some genomes are there to be had, such as those that were measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

from search.choice import Choice
from search.space import Genome, Space

DIFFERENT = 1 << 12
"""The distance of two genomes counts so much for each gene that differs, and one for each step."""


@dataclass(frozen=True, slots=True)
class ListedSpace(Space):
    """A space that holds nothing but the listed genomes, each of which is normal.

    Every other genome means the listed one that differs from it in the fewest genes, and among
    those by the fewest steps. So crossover and mutation, which seldom meet a listed genome in a
    large grid, still lead from good ones to similar ones.
    """

    listed: tuple[Genome, ...] = ()
    _nearest: dict[Genome, Genome] = field(init=False, repr=False, compare=False)
    _distances: tuple[tuple[int, NDArray[np.int32]], ...] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        Space.__post_init__(self)
        object.__setattr__(self, "_nearest", {genome: genome for genome in self.listed})
        object.__setattr__(self, "_distances", tuple(_distances(self.choices, self.listed)))

    @property
    def size(self) -> int:
        """The number of listed genomes."""
        return len(self.listed)

    def normal(self, genome: Genome) -> Genome:
        """The listed genome next to a genome, the first of several."""
        known = self._nearest.get(genome)
        if known is None:
            wanted = Space.normal(self, genome)
            distance = sum(table[wanted[place]] for place, table in self._distances)
            known = self.listed[int(np.argmin(distance))]
            self._nearest[genome] = known
        return known

    def random_point(self, rng: Random) -> Genome:
        """A uniform draw from the list."""
        return self.listed[rng.randrange(len(self.listed))]

    def point(self, position: int) -> Genome:
        """The listed genome at a position (modulo `size`)."""
        return self.listed[position % len(self.listed)]


def _distances(
    choices: Sequence[Choice], listed: Sequence[Genome]
) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """For each place in which the listed genomes differ, how far each of its values is from them.

    The arrays have the shape (values, listed genomes).
    """
    columns = np.array(listed, dtype=np.int32).T
    for place, (choice, column) in enumerate(zip(choices, columns, strict=True)):
        steps = np.abs(np.arange(len(choice.values), dtype=np.int32)[:, None] - column)
        if steps.any():
            yield place, steps + DIFFERENT * (steps > 0)
