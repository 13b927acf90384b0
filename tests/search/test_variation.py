import random

from search import Choice, Space
from search.variation import mutate

SPACE = Space((Choice("a", tuple(range(9))), Choice("fixed", (0,)), Choice("b", (0, 1, 2))))


def test_mutation_changes_something_and_stays_in_the_grid() -> None:
    random.seed(0)
    for _ in range(300):
        genes = [random.randrange(9), 0, random.randrange(3)]
        before = list(genes)
        mutate(genes, SPACE)
        assert genes != before
        assert SPACE.in_grid(tuple(genes))


def test_small_steps_are_preferred_but_all_values_reachable() -> None:
    random.seed(0)
    reached = []
    for _ in range(600):
        genes = [4, 0, 0]
        mutate(genes, SPACE)
        reached.append(genes[0])
    assert set(reached) == set(range(9))
    near = sum(value in (3, 5) for value in reached)
    assert near > sum(value not in (3, 4, 5) for value in reached)


def test_a_space_without_alternatives_is_left_alone() -> None:
    genes = [0]
    mutate(genes, Space((Choice("fixed", (7,)),)))
    assert genes == [0]
