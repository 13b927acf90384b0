"""A space of which only some genomes are there to be had, such as those that were measured."""

from dataclasses import dataclass, field
from random import Random

import numpy as np

from search.space import Genome, Space


@dataclass(frozen=True, slots=True)
class ListedSpace(Space):
    """A space that holds nothing but the listed genomes, each of which is normal.

    Every other genome means the listed one that differs from it in the fewest genes, and among
    those by the fewest steps. So crossover and mutation, which seldom meet a listed genome in a
    large grid, still lead from good ones to similar ones.
    """

    listed: tuple[Genome, ...] = ()
    _known: frozenset[Genome] = field(init=False, repr=False, compare=False)
    _matrix: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Space.__post_init__(self)
        object.__setattr__(self, "_known", frozenset(self.listed))
        object.__setattr__(self, "_matrix", np.array(self.listed, dtype=np.int16))

    @property
    def size(self) -> int:
        """The number of listed genomes."""
        return len(self.listed)

    def normal(self, genome: Genome) -> Genome:
        """The listed genome next to a genome, the first of several."""
        if genome in self._known:
            return genome
        steps = np.abs(self._matrix - np.array(Space.normal(self, genome), dtype=np.int16))
        differing = np.count_nonzero(steps, axis=1)
        distance = differing + steps.sum(axis=1) / (1 + steps.sum())
        return self.listed[int(np.argmin(distance))]

    def random_point(self, rng: Random) -> Genome:
        """A uniform draw from the list."""
        return self.listed[rng.randrange(len(self.listed))]

    def point(self, position: int) -> Genome:
        """The listed genome at a position (modulo `size`)."""
        return self.listed[position % len(self.listed)]
