from __future__ import annotations

import pytest

from relay_tune.cli import turns
from relay_tune.cli.bench import results


def test_variants_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.0)
    calls: list[str] = []
    variants = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    times = turns.time_in_turns(variants, 2)
    a_turn = turns.WARM_UP_CALLS + turns.FEWEST_CALLS
    assert "".join(calls) == ("a" * a_turn + "b" * a_turn) * 2
    assert {name: len(each) for name, each in times.items()} == {"a": 6, "b": 6}


def test_ratios_are_those_of_medians_to_the_first() -> None:
    first, second = results({"untuned": [4.0, 2.0, 9.0], "tuned": [2.0, 1.0, 5.0]})
    assert (first.median, first.minimum, first.maximum, first.ratio) == (4.0, 2.0, 9.0, 1.0)
    assert second.ratio == 2.0
