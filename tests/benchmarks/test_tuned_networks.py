from __future__ import annotations

import pytest

from benchmarks.tuned_networks import Row, show


def test_a_claim_is_compared_with_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    row = Row("net", untuned=2e-3, tuned=1.9e-3, claimed=0.93, candidates=12, seconds=179.6)
    assert row.ratio == pytest.approx(0.95)
    assert row.wrong == pytest.approx(0.02 / 0.95)
    show(row)
    assert capsys.readouterr().out == "| net | 2 | 1.9 | 0.950 | 0.930 | 2.1% | 12 | 180 |\n"
