"""Trials that search strategies need, replayed on tables.

    python benchmarks/search_quality.py [--seeds 20] [--share 0.99] [TABLE.json ...]

Each table (format: `search.table`) holds measured candidates of one task; only those can be
proposed. For each table and each seed three strategies run until a candidate reaches the share of
the table's best: random search, genetic search, and genetic search with a cost model (the one that
ships with the package where the tables are of this compiler's schedules). Printed is the median
over the seeds, as a Markdown table, and which share of the best 5 % of the rows that model finds
in its first 10 % before it has seen any of them.

Replay is without noise: a candidate is worth the same each time. Tables that were measured with
noise flatter every strategy alike, for their best is partly luck; compare strategies, not machines.
Without tables, eight synthetic ones are used (`search.landscapes`).
"""

import argparse
from collections.abc import Callable, Sequence
from statistics import median

from cost_model import CostModel, Row, top_recall
from relay_tune.schedule.features import FEATURE_NAMES, estimated_throughput
from relay_tune.tuning.pretrained import new_cost_model
from search import GeneticSearch, RandomSearch, SearchTable, load_table, trials_to_reach
from search.landscapes import convolution_landscape, matmul_landscape, sample_table

BATCH = 8
SYNTHETIC_ROWS = 3000


class ModelLearner:
    """The cost model as the learner of a replay of one task.

    Where the rows describe schedules, it starts from what the shipped model knows.
    """

    def __init__(self, seed: int, table: SearchTable) -> None:
        self.describes_schedules = len(table.rows[0].features) == len(FEATURE_NAMES)
        self._model = new_cost_model(seed) if self.describes_schedules else CostModel(seed)

    def learn(
        self, features: Sequence[Sequence[float]], throughputs: Sequence[float | None]
    ) -> None:
        """Teach the model with the candidates of a round."""
        priors = self._priors(features)
        rows = zip(features, throughputs, priors, strict=True)
        self._model.update([Row("task", *row) for row in rows])

    def score(self, features: Sequence[Sequence[float]]) -> Sequence[float]:
        """The logarithm of the predicted throughput."""
        scores: list[float] = self._model.predict(features, self._priors(features)).tolist()
        return scores

    def _priors(self, features: Sequence[Sequence[float]]) -> list[float]:
        if not self.describes_schedules:
            return [0.0] * len(features)
        return [estimated_throughput(each) for each in features]


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
    """Trials of genetic search that predicts nothing."""
    trials = trials_to_reach(GeneticSearch(table.space, seed), table, share, lambda _: BATCH)
    return trials or len(table.rows)


def model_trials(table: SearchTable, share: float, seed: int) -> int:
    """Trials of genetic search with a cost model."""
    learner = ModelLearner(seed, table)
    trials = trials_to_reach(
        GeneticSearch(table.space, seed),
        table,
        share,
        lambda _: BATCH,
        learner,
        scored_at_first=learner.describes_schedules,
    )
    return trials or len(table.rows)


def unseen_recall(table: SearchTable) -> float:
    """Which share of the best 5 % of the rows a model that saw none has in its first 10 %."""
    features = [row.features for row in table.rows]
    values = [value or 0.0 for value in table.throughputs.values()]
    return top_recall(ModelLearner(0, table).score(features), values)


def report_line(table: SearchTable, share: float, seeds: int) -> str:
    """The line of the Markdown table for one task."""
    throughputs = [value or 0.0 for value in table.throughputs.values()]
    good = sum(value >= share for value in throughputs) / len(throughputs)
    by_random = _median(random_trials, table, share, seeds)
    genetic = _median(genetic_trials, table, share, seeds)
    ours = _median(model_trials, table, share, seeds)
    return (
        f"| {table.task} | {len(table.rows)} | {good:.2%} | {by_random:g} | {genetic:g} | {ours:g} "
        f"| {ours / by_random:.2f} | {unseen_recall(table):.0%} |"
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
    within = f"within {1 - options.share:.0%}"
    print(f"| task | rows | {within} | random | genetic | with model | ratio | top 5 % |")
    print("|---|---|---|---|---|---|---|---|")
    for table in tables:
        print(report_line(table, options.share, options.seeds), flush=True)


if __name__ == "__main__":
    main()
