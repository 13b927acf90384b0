import random

from search import Choice, Condition, GeneticSearch
from search.listed_space import ListedSpace

LISTED = ((0, 0, 0), (0, 4, 0), (1, 2, 0), (1, 2, 9))
SPACE = ListedSpace(
    (
        Choice("kind", ("a", "b")),
        Choice("size", tuple(range(10))),
        Choice("depth", tuple(range(10)), Condition("kind", "b")),
    ),
    listed=LISTED,
)


def test_every_genome_means_a_listed_one() -> None:
    assert SPACE.size == 4
    assert [SPACE.normal(genome) for genome in LISTED] == list(LISTED)
    assert SPACE.normal((0, 3, 5)) == (0, 4, 0)
    assert SPACE.normal((1, 2, 7)) == (1, 2, 9)


def test_drawing_and_searching_reach_all_of_them() -> None:
    rng = random.Random(0)
    assert {SPACE.random(rng) for _ in range(100)} == set(LISTED)
    search = GeneticSearch(SPACE, seed=0)
    found = []
    while batch := search.propose(1):
        found += batch
        search.tell(batch[0], 1.0)
    assert sorted(found) == sorted(LISTED)
