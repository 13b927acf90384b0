from itertools import combinations

from search import Choice, Space
from search.selection import distance, spread

SPACE = Space(tuple(Choice(name, (0, 1, 2)) for name in "abcd"))
SMALL = Space(SPACE.choices[:3])


def test_distance_counts_genes() -> None:
    assert distance((0, 1, 2), (0, 2, 3)) == 2


def test_the_first_of_the_ranking_is_taken_and_near_twins_wait() -> None:
    ranking = [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 1), (2, 2, 0, 0)]
    assert spread(SPACE, ranking, 3) == [(0, 0, 0, 0), (0, 0, 1, 1), (2, 2, 0, 0)]


def test_near_twins_fill_the_batch_in_the_end() -> None:
    ranking = [(0, 0, 0), (0, 0, 1), (0, 0, 2)]
    assert spread(SMALL, ranking, 5) == ranking
    assert all(distance(*pair) for pair in combinations(spread(SMALL, ranking, 3), 2))


def test_an_empty_ranking() -> None:
    assert spread(SPACE, [], 3) == []
