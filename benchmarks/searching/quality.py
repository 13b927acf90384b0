"""Trials that search strategies need, replayed on tables.

    python -m benchmarks.searching.quality [--seeds 20] [--share 0.99] [TABLE.json ...]

Each table (format: `search.table`) holds measured candidates of one task; only those can be
proposed. For each table and each seed three strategies run until a candidate reaches the share of
the table's best: random search, genetic search, and genetic search with a cost model. On tables of
this compiler's schedules (`tables` measures them) the last is what tuning does: its search,
its batches, and its ranking, which starts from the model that ships with the package. Printed are
the medians over the seeds, as a Markdown table, and which share of the best 5 % of the rows the
model finds in its first 10 % before it has seen any of them; below it the medians, and the mean of
these shares, over the tables. `trials` counts the trials of real tuning.

The bar: with the model at most `--bar` of the trials of random search, on all tables but one in
six. The exit status is 1 where that is missed.

Replay is without noise: a candidate is worth the same each time. Tables that were measured with
noise flatter every strategy alike, for their best is partly luck; compare strategies, not machines.
Without tables, eight synthetic ones are used (`search.landscapes`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from cost_model import CostModel, CostModelError, Row, top_recall
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.tuning.options import TuningOptions
from relay_tune.tuning.ranking import Ranking, row_of
from relay_tune.tuning.task_state import new_search
from search import (
    GeneticSearch,
    RandomSearch,
    SearchError,
    SearchStrategy,
    SearchTable,
    load_table,
    replayed,
    trials_to_reach,
)
from search.landscapes import convolution_landscape, matmul_landscape, sample_table
from search.replay import Learner

BATCH = TuningOptions().batch
SYNTHETIC_ROWS = 3000
TABLES_A_MISS = 6
"""Of so many tables one may miss the bar."""

Strategy = Callable[[int], Iterator[float | None]]
"""From a seed to what is tried: throughputs as shares of the best, None for what failed."""


class TuningLearner:
    """The ranking of a tuning run as the learner of a replay of one task."""

    def __init__(self, seed: int) -> None:
        self._ranking = Ranking(seed, _fail)

    def learn(
        self, features: Sequence[Sequence[float]], throughputs: Sequence[float | None]
    ) -> None:
        """Teach the ranking with the candidates of a round."""
        seconds = [None if value is None else 1.0 / value for value in throughputs]
        self._ranking.learn([row_of("task", *row) for row in zip(features, seconds, strict=True)])

    def score(self, features: Sequence[Sequence[float]]) -> Sequence[float]:
        """How promising candidates are."""
        return self._ranking.predicted(features)


def _fail(reason: str) -> None:
    raise CostModelError(reason)


class PlainLearner:
    """A cost model that knows nothing at first as the learner of a replay of one task."""

    def __init__(self, seed: int) -> None:
        self._model = CostModel(seed)

    def learn(
        self, features: Sequence[Sequence[float]], throughputs: Sequence[float | None]
    ) -> None:
        """Teach the model with the candidates of a round."""
        self._model.update([Row("task", *row) for row in zip(features, throughputs, strict=True)])

    def score(self, features: Sequence[Sequence[float]]) -> Sequence[float]:
        """The logarithm of the predicted throughput."""
        scores: list[float] = self._model.predict(features).tolist()
        return scores


@dataclass(frozen=True, slots=True)
class Replay:
    """Strategies on one table."""

    table: SearchTable

    @property
    def is_tuned(self) -> bool:
        """Whether the rows are schedules, described as in tuning."""
        return self.table.feature_names == FEATURE_NAMES

    def random(self, seed: int) -> Iterator[float | None]:
        """What random search tries, as shares of the best of the table."""
        return self._trials(RandomSearch(self.table.space, seed), None)

    def genetic(self, seed: int) -> Iterator[float | None]:
        """What genetic search tries that predicts nothing."""
        return self._trials(self._search(seed), None)

    def with_model(self, seed: int) -> Iterator[float | None]:
        """What genetic search tries with a cost model."""
        return self._trials(self._search(seed), self._learner(seed))

    def needed(self, strategy: Strategy, seed: int, share: float) -> int:
        """Trials of one of them until a share of the best is reached."""
        return trials_to_reach(strategy(seed), share) or len(self.table.rows)

    def unseen_recall(self) -> float:
        """Which share of the best 5 % the model has in its first 10 % before it has seen any."""
        values = [value or 0.0 for value in self.table.throughputs.values()]
        scores = self._learner(0).score([row.features for row in self.table.rows])
        return top_recall(scores, values)

    def _trials(self, search: SearchStrategy, learner: Learner | None) -> Iterator[float | None]:
        return replayed(search, self.table, lambda _: BATCH, learner, scored_at_first=self.is_tuned)

    def _search(self, seed: int) -> GeneticSearch:
        if self.is_tuned:
            return new_search(self.table.space, seed)
        return GeneticSearch(self.table.space, seed)

    def _learner(self, seed: int) -> Learner:
        return TuningLearner(seed) if self.is_tuned else PlainLearner(seed)


def read_table(path: str) -> SearchTable:
    """A table; SearchError where its schedules are described otherwise than this tree does."""
    table = load_table(path)
    if table.feature_names not in ((), FEATURE_NAMES):
        raise SearchError(
            f"{path} has other features than this version: "
            f"run `python -m benchmarks.searching.tables describe {path}`"
        )
    return table


def synthetic_tables() -> list[SearchTable]:
    """Eight tables of 3000 candidates."""
    landscapes = [
        matmul_landscape(512, 512, 512),
        matmul_landscape(128, 768, 3072),
        matmul_landscape(128, 3072, 768),
        convolution_landscape(64, 64, 56, 3),
        convolution_landscape(128, 128, 28, 3),
        convolution_landscape(256, 256, 14, 3),
        convolution_landscape(512, 512, 7, 3),
        convolution_landscape(256, 64, 56, 1),
    ]
    return [sample_table(landscape, SYNTHETIC_ROWS, seed=1) for landscape in landscapes]


def report(tables: Sequence[SearchTable], share: float, seeds: int, bar: float) -> bool:
    """Print the trials on all tables; whether the bar is met."""
    print(
        f"| task | rows | within {1 - share:.0%} | random | genetic | with model | ratio "
        f"| at most {bar:g} | top 5 % |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    lines: list[Line] = []
    for table in tables:
        lines.append(line_of(table, share, seeds))
        print(lines[-1].text(bar), flush=True)
    print_summary(lines)
    met = sum(line.meets(bar) for line in lines)
    needed = len(tables) - len(tables) // TABLES_A_MISS
    print(f"bar met on {met} of {len(tables)} tables, {needed} are needed: ", end="")
    print("passed" if met >= needed else "FAILED")
    return met >= needed


@dataclass(frozen=True, slots=True)
class Line:
    """What was found on a table.

    Attributes:
        task: its task.
        rows: of the table.
        good: rows that reach the share of the best.
        random, genetic, ours: median trials of the strategies.
        recall: see `Replay.unseen_recall`; None where no model knows such tables.
    """

    task: str
    rows: int
    good: int
    random: float
    genetic: float
    ours: float
    recall: float | None

    def meets(self, bar: float) -> bool:
        """Whether the model needs at most so large a share of the trials of random search."""
        return self.ours <= bar * self.random

    def text(self, bar: float) -> str:
        """A row of the Markdown table."""
        passed = "yes" if self.meets(bar) else "no"
        recall = "" if self.recall is None else f"{self.recall:.0%}"
        return (
            f"| {self.task} | {self.rows} | {self.good} | {self.random:g} | {self.genetic:g} "
            f"| {self.ours:g} | {self.ours / self.random:.2f} | {passed} | {recall} |"
        )


def line_of(table: SearchTable, share: float, seeds: int) -> Line:
    """Replay all strategies on a table."""
    replay = Replay(table)
    by_random, genetic, ours = (
        median(replay.needed(strategy, seed, share) for seed in range(seeds))
        for strategy in (replay.random, replay.genetic, replay.with_model)
    )
    good = sum((value or 0.0) >= share for value in table.throughputs.values())
    recall = replay.unseen_recall() if replay.is_tuned else None
    return Line(table.task, len(table.rows), good, by_random, genetic, ours, recall)


def print_summary(lines: Sequence[Line]) -> None:
    """Print what holds over all tables."""
    by_random, genetic, ours = (
        median(values)
        for values in zip(*((line.random, line.genetic, line.ours) for line in lines), strict=True)
    )
    print(f"\nmedian trials: random {by_random:g}, genetic {genetic:g}, with model {ours:g}")
    recalls = [line.recall for line in lines if line.recall is not None]
    if recalls:
        print(f"best 5 % found in the first 10 %: {fmean(recalls):.0%} on average")


def main() -> int:
    """Parse the command line and print the report; 1 where the bar is missed."""
    parser = argparse.ArgumentParser(description="Compare search strategies on tables.")
    parser.add_argument("tables", nargs="*", help="tables to replay; synthetic ones by default")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each strategy a table")
    parser.add_argument("--share", type=float, default=0.99, help="share of the best to reach")
    parser.add_argument("--bar", type=float, default=0.5, help="of random search's trials")
    options = parser.parse_args()
    tables = [read_table(path) for path in options.tables] or synthetic_tables()
    return 0 if report(tables, options.share, options.seeds, options.bar) else 1


if __name__ == "__main__":
    sys.exit(main())
