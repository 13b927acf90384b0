"""How models are judged by tasks that they have not learned from."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.searching.described_logs import Described, trained
from benchmarks.searching.held_out import Quality, folds, qualities, report
from relay_tune.schedule.features.names import FEATURE_NAMES

FEW_TREES = 40


def group(name: str, place: int) -> Described:
    """A task whose schedules are the better the larger one feature is."""
    generator = random.Random(name)
    features = [[generator.random() for _ in FEATURE_NAMES] for _ in range(32)]
    return Described(name, features, [0.1 + row[place] for row in features])


def groups(place: int) -> list[Described]:
    return [group(f"task{number}", place) for number in range(10)]


@cache
def learned() -> dict[str, list[Quality]]:
    """Of models that learn from other tasks' measurements."""
    return qualities(groups(7), None, FEW_TREES)


def test_a_task_is_on_one_side_only() -> None:
    known = [*groups(3), group("task0", 3)]
    held_out = []
    for others, own in folds(known):
        assert not {g.task for g in others} & {g.task for g in own}
        assert len(others) + len(own) == len(known)
        held_out += own
    assert sorted(g.task for g in held_out) == sorted(g.task for g in known)


def test_what_was_learned_from_other_tasks_counts() -> None:
    found = learned()
    assert set(found) == {"model", "estimate"}
    assert fmean(correlation for correlation, _, _ in found["model"]) > 0.5


def test_opinions_about_other_tasks_are_learned_beside_measurements() -> None:
    believed = [group(f"task{number}", 12) for number in range(10)]
    beside = qualities(groups(7), None, FEW_TREES, believed)
    assert set(beside) == {"model", "estimate", "opinions"}
    assert len(beside["opinions"]) == len(believed)
    assert fmean(correlation for correlation, _, _ in beside["model"]) > 0.5
    assert fmean(correlation for correlation, _, _ in beside["opinions"]) > 0.0
    without = fmean(c for c, _, _ in learned()["model"])
    assert fmean(c for c, _, _ in beside["model"]) < without


def test_opinions_about_tasks_held_out_are_held_out() -> None:
    alone = qualities(groups(7), None, FEW_TREES, [group("task0", 12)])
    assert alone["opinions"] != [] and len(alone["model"]) == 10
    place = next(n for n, (_, own) in enumerate(folds(groups(7))) if own[0].task == "task0")
    assert place == 0
    without = learned()
    assert alone["model"][:2] == without["model"][:2]
    assert alone["model"][2:] != without["model"][2:]


def test_trees_are_added_to_those_of_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained(groups(7), rounds=FEW_TREES).save(tmp_path / "start.json")
    found = qualities(groups(7), tmp_path / "start.json", FEW_TREES)
    assert fmean(correlation for correlation, _, _ in found["start"]) > 0.5
    report(groups(7), tmp_path / "start.json", FEW_TREES)
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()[2:]] == list(found)
    with_start = trained(groups(50), tmp_path / "start.json", FEW_TREES)
    rows = group("other", 7).features
    scores, alone = with_start.predict(rows), trained(groups(50), rounds=FEW_TREES).predict(rows)
    ranked = sorted(range(len(rows)), key=lambda number: rows[number][7])
    worst, best = ranked[0], ranked[-1]
    assert scores[best] - scores[worst] > alone[best] - alone[worst]
