"""Choosing a batch: promising genomes that are not all the same idea."""

from collections.abc import Sequence

from search.space import Genome


def distance(first: Genome, second: Genome) -> int:
    """Number of genes in which two genomes differ (Hamming distance)."""
    return sum(one != other for one, other in zip(first, second, strict=True))


def spread(ranking: Sequence[Genome], count: int) -> list[Genome]:
    """The first `count` of a ranking of distinct genomes that keep their distance.

    Genomes taken differ in at least half of their genes for as long as the ranking offers such;
    then the demand is lowered step by step. A batch is measured before the model learns from
    it, so near twins in it would teach little.
    """
    taken: list[Genome] = []
    demand = (len(ranking[0]) + 1) // 2 if ranking else 0
    for least in range(demand, 0, -1):
        for genome in ranking:
            if len(taken) == count:
                return taken
            if all(distance(genome, other) >= least for other in taken):
                taken.append(genome)
    return taken
