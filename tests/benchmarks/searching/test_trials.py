"""Trials of real tuning: which candidates lead a run, and what is reported."""

from __future__ import annotations

import pytest

from benchmarks.searching.trials import Found, leading, report
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.schedule import Schedule

SCHEDULES = [Schedule((), name) for name in (DIRECT, ROWS(block=2), ROWS(block=4), ROWS(block=8))]


def test_the_candidates_that_lead_are_numbered_from_one() -> None:
    times = [4.0, None, 5.0, 3.0]
    assert leading(list(zip(SCHEDULES, times, strict=True))) == {1: SCHEDULES[0], 4: SCHEDULES[3]}


def test_the_median_is_held_against_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    results = [Found("task", 100, 0, 64, needed, 1.0) for needed in (1, 40, None)]
    assert report(results, 40)
    assert "median 40, bar 40: passed" in capsys.readouterr().out
    assert not report(results, 32)
    assert "| more |" in capsys.readouterr().out
