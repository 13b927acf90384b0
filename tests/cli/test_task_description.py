from __future__ import annotations

import pytest

from relay_tune.cli.task_description import TaskDescription, task_description
from relay_tune.runtime.machine_limits import Bound, CacheLimit, MachineLimits

LIMITS = MachineLimits(2, {"float32": 1e9}, (CacheLimit(1e5, 1e8),), 1e7)


@pytest.mark.parametrize("description", [None, "", "nonsense", "[1]", '{"title": 3}', "[" * 10**5])
def test_a_task_without_title_is_called_by_its_key(description: str | None) -> None:
    assert task_description(description, "key").title == "key"


def test_long_titles_are_cut_and_stay_on_one_line() -> None:
    title = task_description('{"title": "a\\n' + "b" * 200 + '"}', "key").title
    assert len(title) == 120
    assert title.startswith("a b")


def test_the_limit_is_the_slower_of_arithmetic_and_memory() -> None:
    assert described(way(1000, 1000)).bound(LIMITS) == Bound(1e-5, "L1")
    assert described(way(1e6, 0)).bound(LIMITS) == Bound(1e-3, "compute")


def test_the_limit_is_that_of_the_quickest_algorithm() -> None:
    assert described(way(1e6, 0), way(3e5, 0), way(2e5, 1e6)).bound(LIMITS) == Bound(
        3e-4, "compute"
    )


def described(*ways: str) -> TaskDescription:
    text = f'{{"title": "t", "operations": 5, "bytes": 5, "algorithms": [{", ".join(ways)}]}}'
    return task_description(text, "key")


def way(operations: float, moved: float) -> str:
    return f'{{"operations": {{"float32": {operations}}}, "bytes": {moved}}}'


NUMBERLESS = (
    "",
    '{"algorithms": "many"}',
    '{"algorithms": [3, {"operations": 4, "bytes": 5}]}',
    '{"algorithms": [{"operations": {"float32": -1}, "bytes": 1e400}]}',
)


@pytest.mark.parametrize("text", NUMBERLESS)
def test_without_numbers_there_is_no_limit(text: str) -> None:
    assert task_description(text, "key").bound(LIMITS) is None
