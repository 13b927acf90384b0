"""Random search: the baseline that every other strategy has to beat."""

import random

from search.history import History
from search.sampling import FreshSampler
from search.space import Genome, Space
from search.strategy import Score


class RandomSearch:
    """Proposes valid genomes uniformly, without repetition, and ignores scores."""

    def __init__(self, space: Space, seed: int) -> None:
        self._history = History(space)
        self._sampler = FreshSampler(space, self._history, random.Random(seed))

    def propose(self, count: int, score: Score | None = None) -> list[Genome]:
        """Up to `count` genomes, see `SearchStrategy.propose`."""
        return self._sampler.draw(count)

    def tell(self, genome: Genome, value: float | None) -> None:
        """Report a measurement, see `SearchStrategy.tell`."""
        self._history.tell(genome, value)

    @property
    def best(self) -> tuple[Genome, float] | None:
        """The best genome told so far and its value."""
        return self._history.best
