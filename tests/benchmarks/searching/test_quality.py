"""The replay of tables: what counts as a schedule table, and when the bar is met."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.searching.quality import (
    Line,
    Replay,
    TuningLearner,
    print_summary,
    read_table,
    report,
)
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.schedule.features.program_features import TOTAL_CYCLES
from search import Choice, SearchError, SearchTable, save_table
from search.landscapes import matmul_landscape, sample_table
from search.table import TableRow

ROWS = 200


def described(place: int) -> tuple[float, ...]:
    """Features that say nothing but the estimate, which is right."""
    values = [0.0] * len(FEATURE_NAMES)
    values[TOTAL_CYCLES] = 10.0 + place / 20
    return tuple(values)


SCHEDULES = SearchTable(
    "line",
    (Choice("place", tuple(range(ROWS))),),
    tuple(TableRow((place,), described(place), 2 ** (place / 20)) for place in range(ROWS)),
    FEATURE_NAMES,
)


def test_schedules_are_searched_as_in_tuning() -> None:
    replay = Replay(SCHEDULES)
    assert replay.is_tuned
    assert replay.unseen_recall() == 1.0
    ours, by_random = (replay.needed(s, 0, 0.99) for s in (replay.with_model, replay.random))
    assert ours <= 8 < by_random


def test_what_was_measured_is_learned() -> None:
    learner = TuningLearner(0)
    first, last = described(0), described(ROWS - 1)
    before = learner.score([first, last])
    learner.learn([first] * 8 + [last] * 8, [0.5] * 8 + [1.0] * 8)
    after = learner.score([first, last])
    assert after[1] - after[0] > before[1] - before[0]


def test_the_bar_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([SCHEDULES], 0.99, 3, 0.5)
    assert "bar met on 1 of 1 tables, 1 are needed: passed" in capsys.readouterr().out
    assert not report([SCHEDULES], 0.99, 3, 0.0)
    assert "FAILED" in capsys.readouterr().out


def test_tables_of_anything_are_replayed_without_what_tuning_knows() -> None:
    table = sample_table(matmul_landscape(64, 64, 64), 100, seed=0)
    replay = Replay(table)
    assert not replay.is_tuned
    assert 1 <= replay.needed(replay.with_model, 0, 0.9) <= 100


def test_schedules_that_are_described_otherwise_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    names = ("another", *FEATURE_NAMES[1:])
    save_table(replace(SCHEDULES, feature_names=names), path)
    with pytest.raises(SearchError, match="searching.tables describe"):
        read_table(str(path))
    save_table(SCHEDULES, path)
    assert read_table(str(path)) == SCHEDULES


def test_what_holds_over_all_tables_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        Line("a", 100, 1, 40, 20, 4, 0.5),
        Line("b", 100, 1, 60, 30, 8, 1.0),
        Line("c", 100, 1, 90, 50, 9, None),
    ]
    print_summary(lines)
    out = capsys.readouterr().out
    assert "median trials: random 60, genetic 30, with model 8" in out
    assert "first 10 %: 75% on average" in out
