from collections.abc import Sequence

import pytest

from search import Choice, RandomSearch, SearchTable, replayed, trials_to_reach
from search.table import TableRow

ROWS = tuple(TableRow((place,), (float(place),), 100.0 / (place + 1)) for place in range(100))
TABLE = SearchTable("line", (Choice("place", tuple(range(100))),), ROWS)


class Recorder:
    def __init__(self) -> None:
        self.rounds: list[int] = []

    def learn(
        self, features: Sequence[Sequence[float]], throughputs: Sequence[float | None]
    ) -> None:
        assert [(feature[0] + 1) / 100 for feature in features] == pytest.approx(throughputs)
        self.rounds.append(len(features))

    def score(self, features: Sequence[Sequence[float]]) -> Sequence[float]:
        return [feature[0] for feature in features]


def test_trials_are_counted_up_to_the_first_good_one() -> None:
    order = RandomSearch(TABLE.space, 4).propose(100)
    good = min(order.index((place,)) for place in (89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99))
    trials = replayed(RandomSearch(TABLE.space, 4), TABLE, lambda _: 100)
    assert trials_to_reach(trials, 0.9) == good + 1


def test_an_unreachable_share_ends_with_the_table() -> None:
    trials = list(replayed(RandomSearch(TABLE.space, 4), TABLE))
    assert trials_to_reach(trials, 1.01) is None
    assert sorted(value or 0.0 for value in trials) == list(TABLE.throughputs.values())


def test_the_learner_is_taught_in_rounds() -> None:
    recorder = Recorder()
    strategy = RandomSearch(TABLE.space, 4)
    trials = replayed(strategy, TABLE, lambda number: 10 if number == 0 else 45, recorder)
    assert len(list(trials)) == 100
    assert recorder.rounds == [10, 45, 45]
