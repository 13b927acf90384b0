"""Builds from several logs: what is printed of their times."""

from __future__ import annotations

import pytest

from benchmarks.compare_logs import UNTUNED, report


def test_builds_from_logs_are_compared_with_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    report({UNTUNED: [0.012], "0.db": [0.010, 0.009, 0.011], "1.db": [0.0105]})
    out = capsys.readouterr().out
    assert "| untuned | 12 | 12 | 12 | 1.200 |" in out
    assert "| 0.db | 10 | 9 | 11 | 1.000 |" in out
    assert "the slowest log takes 5.0% more than the best" in out
