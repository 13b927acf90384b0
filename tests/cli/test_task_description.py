from __future__ import annotations

import pytest

from relay_tune.cli.task_description import task_description
from relay_tune.runtime.machine_limits import Bound, CacheLimit, MachineLimits

LIMITS = MachineLimits(2, {"float32": 1e9}, (CacheLimit(1e5, 1e8),), 1e7)


@pytest.mark.parametrize("description", [None, "", "nonsense", "[1]", '{"title": 3}', "[" * 10**5])
def test_a_task_without_title_is_called_by_its_key(description: str | None) -> None:
    assert task_description(description, "key").title == "key"


def test_long_titles_are_cut_and_stay_on_one_line() -> None:
    title = task_description('{"title": "a\\n' + "b" * 100 + '"}', "key").title
    assert len(title) == 72
    assert title.startswith("a b")


def test_the_limit_is_the_slower_of_arithmetic_and_memory() -> None:
    by_memory = task_description('{"title": "t", "operations": 1000, "bytes": 1000}', "key")
    assert by_memory.bound(LIMITS) == Bound(1e-5, "L1")
    by_arithmetic = task_description('{"title": "t", "operations": 1e6, "bytes": 0}', "key")
    assert by_arithmetic.bound(LIMITS) == Bound(1e-3, "compute")


NUMBERLESS = ("", '{"operations": "many"}', '{"operations": -1, "bytes": 1e400}')


@pytest.mark.parametrize("text", NUMBERLESS)
def test_without_numbers_there_is_no_limit(text: str) -> None:
    assert task_description(text, "key").bound(LIMITS) is None
