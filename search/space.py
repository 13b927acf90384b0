"""The space that is searched: named choices and a constraint.

A *genome* is one index for each choice, in the order of the choices. All genomes together form
the *grid*; the *valid* ones among them are what a search may propose. Genomes that differ only in
choices which do not count mean the same; the *normal* one stands for them all.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from search.choice import Choice
from search.errors import EmptySpaceError, SearchError

Genome = tuple[int, ...]

RANDOM_ATTEMPTS = 256
"""Random draws that may miss the valid part of the grid before it is walked in order."""

SCAN_LIMIT = 100_000
"""Points of the grid that one walk in order looks at."""


def accept_all(_: Genome) -> bool:
    """The constraint of a space without constraints."""
    return True


@dataclass(frozen=True, slots=True)
class Space:
    """Choices, and a predicate that says which combinations of them are allowed.

    `valid` gets normal genomes of the grid only; it must be pure, for its answers are remembered.
    """

    choices: tuple[Choice, ...]
    valid: Callable[[Genome], bool] = accept_all
    _conditions: tuple[tuple[int, int] | None, ...] = field(init=False, repr=False, compare=False)
    _sizes: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = [choice.name for choice in self.choices]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise SearchError(f"choices must have distinct names, repeated: {', '.join(repeated)}")
        conditions = tuple(_condition(choice, self.choices) for choice in self.choices)
        object.__setattr__(self, "_conditions", conditions)
        sizes = tuple(len(choice.values) for choice in self.choices)
        object.__setattr__(self, "_sizes", sizes)

    @property
    def size(self) -> int:
        """Number of points of the grid, valid or not."""
        return math.prod(len(choice.values) for choice in self.choices)

    def in_grid(self, genome: Genome) -> bool:
        """Whether a genome has one index in range for each choice."""
        return len(genome) == len(self._sizes) and all(
            0 <= gene < size for gene, size in zip(genome, self._sizes, strict=True)
        )

    def __contains__(self, genome: Genome) -> bool:
        """Whether a genome lies in the grid, is normal and valid."""
        return self.in_grid(genome) and self.normal(genome) == genome and self.valid(genome)

    def active(self, genome: Sequence[int]) -> list[int]:
        """The places of the choices that count in a genome of the grid."""
        return [
            place
            for place, condition in enumerate(self._conditions)
            if condition is None or genome[condition[0]] == condition[1]
        ]

    def normal(self, genome: Genome) -> Genome:
        """The genome that stands for all that mean the same as this one of the grid."""
        genes = list(genome)
        for place, condition in enumerate(self._conditions):
            if condition is not None and genome[condition[0]] != condition[1]:
                genes[place] = self.choices[place].idle
        return tuple(genes)

    def check(self, genome: Genome) -> None:
        """Raise `SearchError` unless the genome lies in the grid and is normal."""
        if not self.in_grid(genome):
            sizes = tuple(len(choice.values) for choice in self.choices)
            raise SearchError(f"genome {genome!r} lies outside the grid of sizes {sizes!r}")
        if self.normal(genome) != genome:
            raise SearchError(f"genome {genome!r} is not normal, {self.normal(genome)!r} is")

    def decode(self, genome: Genome) -> dict[str, object]:
        """The values that a genome stands for, by name of the choice."""
        self.check(genome)
        return {
            choice.name: choice.values[gene]
            for gene, choice in zip(genome, self.choices, strict=True)
        }

    def encode(self, values: Mapping[str, object]) -> Genome:
        """The genome of given values; `SearchError` where they are not in the space."""
        names = {choice.name for choice in self.choices}
        if names != values.keys():
            difference = ", ".join(sorted(names.symmetric_difference(values)))
            raise SearchError(f"values and choices of the space differ in: {difference}")
        genome = tuple(_index_of(choice, values[choice.name]) for choice in self.choices)
        if not self.valid(genome):
            raise SearchError(f"values {dict(values)!r} violate the constraint of the space")
        return genome

    def random(self, rng: Random) -> Genome:
        """A valid genome, uniform for as long as drawing finds one.

        Where `RANDOM_ATTEMPTS` draws miss, the grid is walked from a random point on, at most
        `SCAN_LIMIT` points of it. `EmptySpaceError` where the walk finds nothing either.
        """
        for _ in range(RANDOM_ATTEMPTS):
            genome = self.random_point(rng)
            if self.valid(genome):
                return genome
        start = rng.randrange(self.size)
        scanned = min(self.size, SCAN_LIMIT)
        for position in range(start, start + scanned):
            genome = self.normal(self.point(position))
            if self.valid(genome):
                return genome
        raise EmptySpaceError(
            f"no valid genome among {scanned} of {self.size} points of the grid: "
            "loosen the constraint or add values to the choices"
        )

    def random_point(self, rng: Random) -> Genome:
        """The normal genome of a uniform point of the grid, valid or not."""
        return self.normal(tuple([int(rng.random() * size) for size in self._sizes]))

    def point(self, position: int) -> Genome:
        """The point of the grid at a position (modulo `size`), last choice running fastest."""
        genes: list[int] = []
        for choice in reversed(self.choices):
            position, gene = divmod(position, len(choice.values))
            genes.append(gene)
        return tuple(reversed(genes))

    def enumerate(self, limit: int) -> list[Genome]:
        """The first valid normal genomes in the order of the grid, at most `limit` of them.

        Time is linear in the points of the grid passed over.
        """
        points = (self.point(position) for position in range(self.size))
        return list(islice((genome for genome in points if genome in self), limit))

    def neighbours(self, genome: Genome) -> Iterator[Genome]:
        """Valid normal genomes that differ by one step in one choice that counts."""
        self.check(genome)
        for place in self.active(genome):
            for gene in (genome[place] - 1, genome[place] + 1):
                if not 0 <= gene < len(self.choices[place].values):
                    continue
                neighbour = self.normal((*genome[:place], gene, *genome[place + 1 :]))
                if self.valid(neighbour):
                    yield neighbour


def _condition(choice: Choice, choices: Sequence[Choice]) -> tuple[int, int] | None:
    """The place, and the gene there, that a choice needs to count."""
    wanted = choice.condition
    if wanted is None:
        return None
    for place, other in enumerate(choices):
        if other.name == wanted.name and other.condition is None:
            return place, _index_of(other, wanted.value)
    raise SearchError(f"choice {choice.name!r} depends on {wanted.name!r}, which does not count")


def _index_of(choice: Choice, value: object) -> int:
    try:
        return choice.values.index(value)
    except ValueError:
        raise SearchError(
            f"choice {choice.name!r} has no value {value!r}, it has {choice.values!r}"
        ) from None
