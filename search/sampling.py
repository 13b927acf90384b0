"""Genomes not seen before: random draws first, then a walk over what is left."""

import random

from search.history import History
from search.space import SCAN_LIMIT, Genome, Space

ATTEMPTS_PER_GENOME = 64


def random_genomes(space: Space, count: int, rng: random.Random) -> list[Genome]:
    """Up to `count` distinct valid genomes, seen or not; fewer where bounded drawing misses."""
    drawn: dict[Genome, None] = {}
    for _ in range(ATTEMPTS_PER_GENOME * count):
        if len(drawn) >= count:
            break
        genome = space.random_point(rng)
        if space.valid(genome):
            drawn[genome] = None
    return list(drawn)


class FreshSampler:
    """Draws valid genomes that the history does not know, each at most once a call.

    The walk keeps its place between calls, so that repeated calls cover any grid; what it has
    passed is either invalid or was handed out.
    """

    def __init__(self, space: Space, history: History, rng: random.Random) -> None:
        self._space = space
        self._history = history
        self._rng = rng
        self._start: int | None = None
        self._walked = 0

    def draw(self, count: int) -> list[Genome]:
        """Up to `count` unseen valid genomes, marked as seen in the history."""
        drawn = self._draw_randomly(count)
        return drawn + self._walk(count - len(drawn))

    def _draw_randomly(self, count: int) -> list[Genome]:
        drawn: list[Genome] = []
        for _ in range(ATTEMPTS_PER_GENOME * count):
            if len(drawn) == count:
                break
            self._take(self._space.random_point(self._rng), drawn)
        return drawn

    def _walk(self, count: int) -> list[Genome]:
        drawn: list[Genome] = []
        if count <= 0:
            return drawn
        if self._start is None:
            self._start = self._rng.randrange(self._space.size)
        stop = min(self._space.size, self._walked + SCAN_LIMIT)
        while self._walked < stop and len(drawn) < count:
            point = self._space.point(self._start + self._walked)
            self._take(self._space.normal(point), drawn)
            self._walked += 1
        return drawn

    def _take(self, genome: Genome, drawn: list[Genome]) -> None:
        if genome in self._history or not self._space.valid(genome):
            return
        self._history.mark(genome)
        drawn.append(genome)
