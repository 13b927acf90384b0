from __future__ import annotations

import numpy as np
import pytest

from relay_tune.cli.bench import results
from relay_tune.tuning import turns


def test_variants_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.0)
    calls: list[str] = []
    variants = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    times = turns.time_in_turns(variants, 2)
    a_turn = turns.WARM_UP_CALLS + turns.FEWEST_CALLS
    assert "".join(calls) == ("a" * a_turn + "b" * a_turn) * 2
    assert {name: [len(turn) for turn in each] for name, each in times.items()} == {
        "a": [3, 3],
        "b": [3, 3],
    }


def test_a_clock_that_stands_still_sees_no_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PAUSE_SECONDS", 0.0)
    now = iter(range(100))
    times = turns.time_in_turns({"a": lambda: None}, 1, 0.0, clock=lambda: float(next(now)))
    assert times == {"a": [[1.0] * turns.FEWEST_CALLS]}


def test_ratios_are_those_of_the_turns_to_the_first() -> None:
    times = {"untuned": [[4.0, 2.0, 9.0], [8.0]], "tuned": [[2.0, 1.0, 5.0], [4.0]]}
    first, second = results(times, {"tuned": 1e-6})
    assert (first.median_seconds, first.minimum_seconds, first.maximum_seconds) == (6.0, 2.0, 9.0)
    assert (first.ratio, first.interval, first.difference) == (1.0, None, None)
    assert (second.ratio, second.interval, second.difference) == (2.0, None, 1e-6)


def test_a_slow_turn_does_not_move_the_ratio() -> None:
    untuned = [[1.0], [1.0], [9.0], [1.0], [1.0]]
    _, second = results({"untuned": untuned, "tuned": [[0.5]] * 5}, {})
    assert second.ratio == 2.0
    assert second.interval == (2.0, 18.0)


@pytest.mark.parametrize(
    "count, lowest", [(1, None), (4, None), (5, 0), (7, 0), (8, 1), (20, 5), (50, 18)]
)
def test_intervals_are_those_of_the_sign_test(count: int, lowest: int | None) -> None:
    """The ranks of the tables of the sign test for nine in ten."""
    found = turns.median_interval([float(n) for n in reversed(range(count))])
    assert found == (None if lowest is None else (lowest, count - 1 - lowest))


def test_intervals_hold_the_median_nine_times_in_ten() -> None:
    random = np.random.default_rng(0)
    held = 0
    for _ in range(500):
        low, high = turns.median_interval(random.exponential(size=9).tolist()) or (0.0, 0.0)
        held += low <= np.log(2.0) <= high
    assert held >= 440
