"""Marks of a task: their JSON form, and one of each kind for each scope."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from relay_tune.schedule.accuracy import Accuracy
from relay_tune.tuning.finished_tasks import FINISHED, FinishedMark
from relay_tune.tuning.kept_schedules import KEPT, KeptSchedule
from relay_tune.tuning.scope import TuningScope

SCOPE = TuningScope("machine", 2, "5")
FINISHED_MARK = FinishedMark(SCOPE, 64.0, "{}")
KEPT_MARK = KeptSchedule(SCOPE, "{}", 0.5, 10.0)


def test_marks_survive_the_log() -> None:
    description = KEPT.added(FINISHED.added({"title": "dense"}, FINISHED_MARK), KEPT_MARK)
    read = json.loads(json.dumps(description))
    assert read["title"] == "dense"
    assert FINISHED.of(read) == [FINISHED_MARK]
    assert KEPT.of(read) == [KEPT_MARK]


@pytest.mark.parametrize("accuracy", Accuracy)
def test_marks_know_the_accuracy_of_the_search(accuracy: Accuracy) -> None:
    mark = replace(FINISHED_MARK, accuracy=accuracy)
    assert FINISHED.of(json.loads(json.dumps(FINISHED.added({}, mark)))) == [mark]


def test_marks_without_an_accuracy_are_of_searches_under_all_algorithms() -> None:
    (mark,) = FINISHED.of({"finished": [["machine", 2, "5", 64.0, "{}"]]})
    assert mark == replace(FINISHED_MARK, accuracy=Accuracy.RELAXED)
    assert FINISHED.of({"finished": [["machine", 2, "5", 64.0, "{}", "perfect"]]}) == []


def test_the_last_mark_of_a_scope_counts() -> None:
    other = replace(KEPT_MARK, scope=replace(SCOPE, threads=1))
    later = replace(KEPT_MARK, seconds=0.25)
    description: dict[str, object] = {}
    for mark in (KEPT_MARK, other, later):
        description = KEPT.added(description, mark)
    assert KEPT.of(description) == [other, later]


@pytest.mark.parametrize("value", [None, 3, {}, [3], [["machine", 2, "5"]], [{"threads": "2"}]])
def test_malformed_marks_are_passed_over(value: object) -> None:
    assert FINISHED.of({"finished": value}) == []
    assert KEPT.of({"kept": value}) == []
