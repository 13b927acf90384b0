from __future__ import annotations

import pytest

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
