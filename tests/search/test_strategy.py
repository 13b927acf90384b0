"""The contract that every strategy keeps."""

import math
import random
from collections.abc import Callable, Sequence

import pytest

from search import Choice, GeneticSearch, Genome, RandomSearch, SearchError, SearchStrategy, Space

Make = Callable[[Space, int], SearchStrategy]

GRID = tuple(Choice(name, tuple(range(6))) for name in "abcd")
SPACE = Space(GRID, valid=lambda genome: sum(genome) % 3 == 0)


def score_sum(genomes: Sequence[Genome]) -> list[float]:
    return [float(sum(genome)) for genome in genomes]


def run(strategy: SearchStrategy, rounds: int, scored: bool = True) -> list[Genome]:
    proposed: list[Genome] = []
    for _ in range(rounds):
        batch = strategy.propose(8, score_sum if scored else None)
        proposed += batch
        for genome in batch:
            strategy.tell(genome, None if genome[0] == 3 else float(sum(genome)))
    return proposed


@pytest.mark.parametrize("make", [RandomSearch, GeneticSearch])
class TestStrategy:
    def test_proposals_are_valid_distinct_and_complete(self, make: Make) -> None:
        for scored in (False, True):
            proposed = run(make(SPACE, 1), rounds=10, scored=scored)
            assert len(proposed) == 80
            assert len(set(proposed)) == 80
            assert all(genome in SPACE for genome in proposed)

    def test_told_genomes_are_not_proposed(self, make: Make) -> None:
        strategy = make(SPACE, 1)
        known = SPACE.enumerate(200)
        for genome in known:
            strategy.tell(genome, 1.0)
        assert not set(known) & set(run(strategy, rounds=10))

    def test_the_space_is_covered_and_then_nothing_is_left(self, make: Make) -> None:
        small = Space(GRID[:3], valid=lambda genome: sum(genome) % 5 == 1)
        strategy = make(small, 3)
        proposed: list[Genome] = []
        while batch := strategy.propose(7, score_sum):
            proposed += batch
        assert sorted(proposed) == small.enumerate(small.size)
        assert strategy.propose(7, score_sum) == []

    def test_an_empty_space_has_no_proposals(self, make: Make) -> None:
        assert make(Space(GRID, valid=lambda _: False), 0).propose(4, score_sum) == []

    def test_a_space_of_one_point(self, make: Make) -> None:
        strategy = make(Space(()), 0)
        assert strategy.propose(4) == [()]
        strategy.tell((), 2.0)
        assert strategy.propose(4) == []
        assert strategy.best == ((), 2.0)

    def test_a_rare_valid_genome_in_a_large_grid_is_found(self, make: Make) -> None:
        wide = Space(
            tuple(Choice(name, tuple(range(40))) for name in "abc"),
            valid=lambda genome: genome == (17, 3, 39),
        )
        assert make(wide, 0).propose(4, score_sum) == [(17, 3, 39)]

    def test_a_hopeless_space_costs_bounded_work(self, make: Make) -> None:
        calls = 0

        def never(_: Genome) -> bool:
            nonlocal calls
            calls += 1
            return False

        huge = Space(tuple(Choice(f"c{i}", tuple(range(50))) for i in range(10)), never)
        assert make(huge, 0).propose(4, score_sum) == []
        assert calls < 250_000

    def test_the_same_seed_gives_the_same_proposals(self, make: Make) -> None:
        assert run(make(SPACE, 5), rounds=6) == run(make(SPACE, 5), rounds=6)

    def test_another_seed_gives_others(self, make: Make) -> None:
        assert run(make(SPACE, 5), rounds=2) != run(make(SPACE, 6), rounds=2)

    def test_the_module_level_random_is_left_alone(self, make: Make) -> None:
        random.seed(123)
        expected = random.random()
        random.seed(123)
        first = run(make(SPACE, 5), rounds=4)
        assert random.random() == expected
        assert run(make(SPACE, 5), rounds=4) == first

    def test_best_ignores_failures_and_what_is_no_number(self, make: Make) -> None:
        strategy = make(SPACE, 0)
        assert strategy.best is None
        first, second, third, fourth = strategy.propose(4)
        strategy.tell(first, None)
        strategy.tell(second, math.nan)
        strategy.tell(third, math.inf)
        assert strategy.best is None
        strategy.tell(fourth, -1.0)
        assert strategy.best == (fourth, -1.0)

    def test_the_later_of_two_values_stands(self, make: Make) -> None:
        strategy = make(SPACE, 0)
        first, second = strategy.propose(2)
        strategy.tell(first, 9.0)
        strategy.tell(second, 5.0)
        strategy.tell(first, None)
        assert strategy.best == (second, 5.0)

    def test_genomes_outside_the_grid_cannot_be_told(self, make: Make) -> None:
        with pytest.raises(SearchError, match="outside the grid"):
            make(SPACE, 0).tell((0, 0), 1.0)

    def test_nothing_asked_nothing_proposed(self, make: Make) -> None:
        assert make(SPACE, 0).propose(0, score_sum) == []
