"""How well models rank schedules of tasks that they have not learned from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.searching.block_tasks import SEED
from benchmarks.searching.described_logs import Described, trained
from cost_model import CostModel, rank_correlation, top_recall
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.schedule.features.program_features import estimated_throughput

FOLDS = 5

Quality = tuple[float, float, float]
"""Rank correlation, share of the best found, and what the first choice reaches of the best."""


def folds(groups: Sequence[Described]) -> Iterator[tuple[list[Described], list[Described]]]:
    """Each fifth of the tasks with all others; a task is on one side only."""
    tasks = sorted({group.task for group in groups})
    for number in range(FOLDS):
        held_out = set(tasks[number::FOLDS])
        yield (
            [group for group in groups if group.task not in held_out],
            [group for group in groups if group.task in held_out],
        )


def quality(group: Described, scores: Sequence[float]) -> Quality:
    """How good scores of the schedules of a task are."""
    values = [value or 0.0 for value in group.throughputs]
    first = values[max(range(len(values)), key=scores.__getitem__)]
    return rank_correlation(scores, values), top_recall(scores, values), first / max(values)


def qualities(
    groups: Sequence[Described],
    start: Path | None,
    rounds: int,
    opinions: Sequence[Described] = (),
) -> dict[str, list[Quality]]:
    """For each task what the model makes of it that has learned from the others.

    Beside it stand the estimate and the model at the start, if there is one: it may know the tasks
    from another machine. Opinions about tasks held out are held out, too; `opinions` tells how far
    the model shares them.
    """
    found: dict[str, list[Quality]] = {"model": [], "estimate": []}
    if opinions:
        found["opinions"] = []
    known: CostModel | None = None
    if start is not None:
        known = CostModel(SEED, feature_names=FEATURE_NAMES)
        known.load(start)
        found["start"] = []
    for others, held_out in folds(groups):
        tasks = {group.task for group in held_out}
        model = trained(others, start, rounds, [one for one in opinions if one.task not in tasks])
        for one in opinions:
            if one.task in tasks:
                found["opinions"].append(quality(one, _scores(model, one)))
        for group in held_out:
            found["model"].append(quality(group, _scores(model, group)))
            found["estimate"].append(quality(group, _estimates(group)))
            if known is not None:
                found["start"].append(quality(group, _scores(known, group)))
    return found


def _estimates(group: Described) -> list[float]:
    return [estimated_throughput(features) for features in group.features]


def _scores(model: CostModel, group: Described) -> list[float]:
    scores: list[float] = model.predict(group.features, _estimates(group)).tolist()
    return scores


def report(
    groups: Sequence[Described],
    start: Path | None,
    rounds: int,
    opinions: Sequence[Described] = (),
) -> None:
    """Print the means over all tasks."""
    print("| ranked by | rank correlation | top 5 % in top 10 % | first choice against best |")
    print("|---|---|---|---|")
    for name, found in qualities(groups, start, rounds, opinions).items():
        means = [fmean(column) for column in zip(*found, strict=True)]
        print(f"| {name} | {means[0]:.2f} | {means[1]:.0%} | {means[2]:.0%} |")
