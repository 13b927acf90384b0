"""What is reached from some items: each once, and nothing before it is asked for."""

from relay_tune.ir.reached import reached

EDGES = {"a": "bc", "b": "d", "c": "da", "d": "", "e": "a"}


def test_each_item_comes_once() -> None:
    found = list(reached("a", EDGES.__getitem__))
    assert sorted(found) == ["a", "b", "c", "d"]


def test_the_last_one_found_comes_first() -> None:
    assert list(reached("ae", EDGES.__getitem__)) == ["e", "a", "c", "d", "b"]


def test_a_caller_may_stop_before_what_follows_is_asked_for() -> None:
    numbers = reached([0], lambda number: [number + 1])
    assert [next(numbers) for _ in range(3)] == [0, 1, 2]
