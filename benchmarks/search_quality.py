"""Trials that random search and genetic search with a cost model need, replayed on tables.

    python benchmarks/search_quality.py [--seeds 20] [--share 0.99] [TABLE.json ...]

Each table (format: `search.table`) holds measured candidates of one task; only those can be
proposed. For each table and each seed both strategies run until a candidate reaches the share of
the table's best. Printed is the median over the seeds, as a Markdown table, and the rank
correlation of a model that has learned from 64 random rows with all others.

Replay is without noise: a candidate is worth the same each time. Tables that were measured with
noise flatter every strategy alike, for their best is partly luck; compare strategies, not machines.
Without tables, eight synthetic ones are used (`search.landscapes`).
"""

import argparse
import random
from collections.abc import Callable, Sequence
from statistics import median

from cost_model import CostModel, Row, rank_correlation
from relay_tune.schedule.features import FEATURE_NAMES
from relay_tune.tuning.ranking import LEAST_ROWS
from search import GeneticSearch, RandomSearch, SearchTable, load_table, trials_to_reach
from search.landscapes import convolution_landscape, matmul_landscape, sample_table

BATCH = 8
TRAINING_ROWS = 64
SYNTHETIC_ROWS = 3000


class ModelLearner:
    """The cost model as the learner of a replay of one task.

    Where the features hold the analytic estimate, it ranks until enough is learned, as in tuning.
    """

    def __init__(self, seed: int, estimate: int | None) -> None:
        self._model = CostModel(seed)
        self._estimate = estimate
        self._rows = 0

    def learn(
        self, features: Sequence[Sequence[float]], throughputs: Sequence[float | None]
    ) -> None:
        """Teach the model with the candidates of a round."""
        pairs = zip(features, throughputs, strict=True)
        self._model.update([Row("task", feature, throughput) for feature, throughput in pairs])
        self._rows += len(features)

    def score(self, features: Sequence[Sequence[float]]) -> Sequence[float]:
        """Predicted share of the best throughput, or how short the estimated time is."""
        if self._estimate is not None and self._rows < LEAST_ROWS:
            return [-feature[self._estimate] for feature in features]
        scores: list[float] = self._model.predict(features).tolist()
        return scores


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


def random_trials(table: SearchTable, share: float, seed: int) -> int:
    """Trials of random search."""
    trials = trials_to_reach(RandomSearch(table.space, seed), table, share, lambda _: BATCH)
    return trials or len(table.rows)


def genetic_trials(table: SearchTable, share: float, seed: int) -> int:
    """Trials of genetic search with a cost model."""
    strategy = GeneticSearch(table.space, seed)
    estimate = estimate_feature(table)
    trials = trials_to_reach(
        strategy,
        table,
        share,
        lambda _: BATCH,
        ModelLearner(seed, estimate),
        scored_at_first=estimate is not None,
    )
    return trials or len(table.rows)


def estimate_feature(table: SearchTable) -> int | None:
    """Which feature is the estimated time, in tables of this compiler's schedules."""
    if len(table.rows[0].features) != len(FEATURE_NAMES):
        return None
    return FEATURE_NAMES.index("log_total_cycles")


def held_out_correlation(table: SearchTable, seed: int) -> float:
    """Rank correlation on the rows of a table that the model has not seen."""
    rows = [Row(table.task, row.features, 1 / row.seconds) for row in table.rows if row.seconds]
    random.Random(seed).shuffle(rows)
    model = CostModel(seed)
    model.update(rows[:TRAINING_ROWS])
    rest = rows[TRAINING_ROWS:]
    predicted = model.predict([row.features for row in rest])
    return rank_correlation(predicted, [row.throughput or 0.0 for row in rest])


def report_line(table: SearchTable, share: float, seeds: int) -> str:
    """The line of the Markdown table for one task."""
    throughputs = [value or 0.0 for value in table.throughputs.values()]
    good = sum(value >= share for value in throughputs) / len(throughputs)
    by_random = _median(random_trials, table, share, seeds)
    genetic = _median(genetic_trials, table, share, seeds)
    correlation = held_out_correlation(table, seed=0)
    return (
        f"| {table.task} | {len(table.rows)} | {good:.2%} | {by_random:g} | {genetic:g} "
        f"| {genetic / by_random:.2f} | {correlation:.2f} |"
    )


def _median(
    trials: Callable[[SearchTable, float, int], int], table: SearchTable, share: float, seeds: int
) -> float:
    return median(trials(table, share, seed) for seed in range(seeds))


def main() -> None:
    """Parse the command line and print the report."""
    parser = argparse.ArgumentParser(description="Compare search strategies on tables.")
    parser.add_argument("tables", nargs="*", help="tables to replay; synthetic ones by default")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each strategy a table")
    parser.add_argument("--share", type=float, default=0.99, help="share of the best to reach")
    options = parser.parse_args()
    tables = [load_table(path) for path in options.tables] or synthetic_tables()
    print(f"| task | rows | within {1 - options.share:.0%} | random | genetic | ratio | rank |")
    print("|---|---|---|---|---|---|---|")
    for table in tables:
        print(report_line(table, options.share, options.seeds), flush=True)


if __name__ == "__main__":
    main()
