"""Replay of a strategy on a table: how many trials it needs, without measuring anything."""

from collections.abc import Callable, Sequence
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


def trials_to_reach(
    strategy: SearchStrategy,
    table: SearchTable,
    share: float = 0.99,
    batches: Callable[[int], int] = lambda _: 8,
    learner: Learner | None = None,
    *,
    scored_at_first: bool = False,
) -> int | None:
    """Trials until a candidate reaches `share` of the best of the table, None if none does.

    The strategy must search `table.space`. batches: number of a round to size of its batch.
    With a learner, each round is proposed on its score; the first one only if it is
    `scored_at_first`, because the learner has an opinion before it has learned anything.
    """
    throughputs, features = table.throughputs, table.features

    def score(genomes: Sequence[Genome]) -> Sequence[float]:
        return learner.score([features[genome] for genome in genomes]) if learner else []

    usable: Score | None = score if learner is not None and scored_at_first else None
    trials = 0
    for batch in map(batches, range(len(table.rows))):
        genomes = strategy.propose(batch, usable)
        if not genomes:
            return None
        values = [throughputs[genome] for genome in genomes]
        for genome, value in zip(genomes, values, strict=True):
            trials += 1
            if value is not None and value >= share:
                return trials
            strategy.tell(genome, value)
        if learner is not None:
            learner.learn([features[genome] for genome in genomes], values)
            usable = score
    return None
