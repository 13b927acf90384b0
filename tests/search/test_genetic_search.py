import math
from collections.abc import Sequence

import pytest

from search import Choice, GeneticSearch, Genome, SearchError, Space

SPACE = Space(
    tuple(Choice(name, tuple(range(10))) for name in "abcde"),
    valid=lambda genome: sum(genome) % 2 == 0,
)
PEAK = (7, 2, 9, 4, 6)


def nearness(genomes: Sequence[Genome]) -> list[float]:
    return [-float(sum(abs(a - b) for a, b in zip(g, PEAK, strict=True))) for g in genomes]


def test_a_true_score_leads_to_the_peak_at_once() -> None:
    search = GeneticSearch(SPACE, seed=0, generations=20)
    assert PEAK in search.propose(8, nearness)


def test_what_was_promising_goes_on_evolving() -> None:
    """One generation a proposal, and nothing is ever measured."""

    def best_of_sixth_proposal(carried: float) -> float:
        search = GeneticSearch(
            SPACE, seed=0, population=32, generations=1, exploration=0.0, carried=carried
        )
        for _ in range(5):
            search.propose(2, nearness)
        return max(nearness(search.propose(2, nearness)))

    assert best_of_sixth_proposal(0.5) >= -1 > best_of_sixth_proposal(0.0)


def test_measured_fitness_alone_leads_uphill() -> None:
    search = GeneticSearch(SPACE, seed=0)
    for _ in range(40):
        for genome in search.propose(8):
            search.tell(genome, nearness([genome])[0])
    assert search.best is not None
    assert search.best[1] >= -3


def test_initial_genomes_come_first_and_once() -> None:
    initial = [(0, 0, 0, 0, 0), (1, 1, 0, 0, 0), (0, 0, 0, 0, 0), (2, 0, 0, 0, 0)]
    search = GeneticSearch(SPACE, seed=0, initial=initial)
    search.tell((1, 1, 0, 0, 0), 1.0)
    first = search.propose(1, nearness)
    second = search.propose(3, nearness)
    assert first == [(0, 0, 0, 0, 0)]
    assert second[0] == (2, 0, 0, 0, 0)
    assert len(second) == 3


@pytest.mark.parametrize("genome", [(1, 0, 0, 0, 0), (10, 0, 0, 0, 0), (0, 0)])
def test_initial_genomes_must_be_in_the_space(genome: Genome) -> None:
    with pytest.raises(SearchError):
        GeneticSearch(SPACE, seed=0, initial=[genome])


def test_a_score_of_nan_never_wins() -> None:
    def poisoned(genomes: Sequence[Genome]) -> list[float]:
        values = nearness(genomes)
        return [math.nan if g[0] < 7 else v for g, v in zip(genomes, values, strict=True)]

    search = GeneticSearch(SPACE, seed=0, exploration=0.0)
    assert all(genome[0] >= 7 for genome in search.propose(8, poisoned))


def test_failed_genomes_are_no_parents() -> None:
    lucky = (9, 9, 9, 9, 8)
    search = GeneticSearch(SPACE, seed=0, exploration=0.0)
    search.tell(lucky, 1.0)
    for genome in SPACE.enumerate(50):
        search.tell(genome, None)
    children = search.propose(8)
    shared = [sum(a == b for a, b in zip(c, lucky, strict=True)) for c in children]
    assert sum(shared) >= 16


def test_the_score_sees_each_genome_once_a_proposal() -> None:
    seen: list[Genome] = []

    def counted(genomes: Sequence[Genome]) -> list[float]:
        seen.extend(genomes)
        return nearness(genomes)

    GeneticSearch(SPACE, seed=0, population=64, generations=5).propose(8, counted)
    assert len(seen) == len(set(seen)) <= 64 * 6
    assert all(genome in SPACE for genome in seen)


def test_a_score_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(SearchError, match="one each"):
        GeneticSearch(SPACE, seed=0).propose(4, lambda genomes: [1.0])


def test_exploration_one_is_random_and_ignores_the_score() -> None:
    search = GeneticSearch(SPACE, seed=0, exploration=1.0)
    assert max(nearness(search.propose(16, nearness))) < -2


@pytest.mark.parametrize(
    "settings",
    [{"exploration": 1.5}, {"elite": -0.1}, {"carried": 1.1}, {"mutation": 2.0}, {"population": 0}],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(SearchError, match=next(iter(settings))):
        GeneticSearch(SPACE, 0, **settings)  # type: ignore[arg-type]
