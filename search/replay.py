"""Replay of a strategy on a table: what it tries, without measuring anything."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from search.space import Genome
from search.strategy import Score, SearchStrategy
from search.table import SearchTable


class Learner(Protocol):
    """A model that is taught with measured candidates and predicts their worth."""

    def learn(
        self, features: Sequence[Sequence[float]], throughputs: Sequence[float | None]
    ) -> None:
        """Take further candidates: features, and throughput as a share of the best possible."""

    def score(self, features: Sequence[Sequence[float]]) -> Sequence[float]:
        """Predicted worth, higher is better."""


def replayed(
    strategy: SearchStrategy,
    table: SearchTable,
    batches: Callable[[int], int] = lambda _: 8,
    learner: Learner | None = None,
    *,
    scored_at_first: bool = False,
) -> Iterator[float | None]:
    """The throughputs of a strategy's trials, in their order; None for those that failed.

    Throughputs are shares of the best of the table. The strategy must search `table.space`.
    batches: number of a round to size of its batch. With a learner, each round is proposed on its
    score; the first one only if it is `scored_at_first`, because the learner has an opinion before
    it has learned anything.
    """
    throughputs, features = table.throughputs, table.features

    def score(genomes: Sequence[Genome]) -> Sequence[float]:
        return learner.score([features[genome] for genome in genomes]) if learner else []

    usable: Score | None = score if learner is not None and scored_at_first else None
    for batch in map(batches, range(len(table.rows))):
        genomes = strategy.propose(batch, usable)
        if not genomes:
            return
        values = [throughputs[genome] for genome in genomes]
        for genome, value in zip(genomes, values, strict=True):
            yield value
            strategy.tell(genome, value)
        if learner is not None:
            learner.learn([features[genome] for genome in genomes], values)
            usable = score


def trials_to_reach(trials: Iterable[float | None], share: float = 0.99) -> int | None:
    """Trials until a candidate reaches `share` of the best of the table, None if none does."""
    for number, value in enumerate(trials, 1):
        if value is not None and value >= share:
            return number
    return None
