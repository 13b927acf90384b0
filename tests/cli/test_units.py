from __future__ import annotations

import pytest

from relay_tune.cli.task_title import task_title
from relay_tune.cli.units import clock_text, table_text, time_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (2.5, "2.5 s"), (1.25e-3, "1.25 ms"), (1e-6, "1 us"), (4.2e-8, "42 ns")],
)
def test_times(seconds: float | None, text: str) -> None:
    assert time_text(seconds) == text


def test_clock() -> None:
    assert clock_text(245.2) == "4:05"
    assert clock_text(-1) == "0:00"


def test_table_aligns_columns() -> None:
    assert table_text([("a", "b"), ("long", "c")]) == "a     b\nlong  c"


@pytest.mark.parametrize("description", [None, "", "nonsense", "[1]", '{"title": 3}', "[" * 10**5])
def test_a_task_without_title_is_called_by_its_key(description: str | None) -> None:
    assert task_title(description, "key") == "key"


def test_long_titles_are_cut_and_stay_on_one_line() -> None:
    title = task_title('{"title": "a\\n' + "b" * 100 + '"}', "key")
    assert len(title) == 72
    assert title.startswith("a b")
