"""Times of a machine on which other work runs now and then, by a clock that is made up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, cycle, repeat

import pytest

from relay_tune.runtime.repeated_times import MOST_ROUNDS, SAMPLES, repeated_times


def timer(rounds: Iterable[float]) -> Callable[[], float]:
    """A sample whose rounds take so long; the other samples of a round are disturbed more."""
    times = chain.from_iterable((3 * least, 2 * least, least, 5 * least) for least in rounds)
    return lambda: next(times)


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([1.0, 1.05], 2),
        ([2.0, 1.0, 1.09], 3),
        ([4.0, 2.0, 3.0, 1.0, 1.3, 1.0], 6),
        ([2.0, 2.1], 2),  # nothing tells that both were disturbed
    ],
)
def test_rounds_are_repeated_until_two_agree_on_the_least(
    rounds: list[float], expected: int
) -> None:
    (found,) = repeated_times([timer(chain(rounds, repeat(0.5)))])
    assert found.agrees and found.seconds == min(rounds)
    assert len(found.rounds) == expected


def test_what_never_agrees_is_given_up_and_said() -> None:
    (found,) = repeated_times([timer(1.2**-n for n in range(100))])
    assert not found.agrees
    assert len(found.rounds) == MOST_ROUNDS and found.seconds == 1.2 ** -(MOST_ROUNDS - 1)


def test_only_what_disagrees_is_repeated_and_all_go_in_turns() -> None:
    order: list[str] = []

    def named(name: str, sample: Callable[[], float]) -> Callable[[], float]:
        def run() -> float:
            order.append(name)
            return sample()

        return run

    first, second = named("a", timer(cycle([1.0]))), named("b", timer([3.0, 2.0, 1.0, 1.0]))
    calm, busy = repeated_times([first, second])
    assert calm.agrees and busy.agrees
    assert "".join(order[::SAMPLES]) == "ababbb"
