"""Choosing a batch: promising genomes that are not all the same idea."""

from collections.abc import Sequence

from search.space import Genome, Space

DEMANDS = (0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
"""Shares of their genes in which the genomes of a batch differ, as long as there are such."""


def distance(first: Genome, second: Genome) -> int:
    """Number of genes in which two genomes differ (Hamming distance)."""
    return sum(one != other for one, other in zip(first, second, strict=True))


def spread(space: Space, ranking: Sequence[Genome], count: int) -> list[Genome]:
    """The first `count` of a ranking of distinct genomes that keep their distance.

    Genomes taken differ in at least half of the genes that count in them for as long as the
    ranking offers such; then the demand is lowered step by step. A batch is measured before the
    model learns from it, so near twins in it would teach little.
    """
    taken: list[Genome] = []
    counting = {genome: len(space.active(genome)) for genome in ranking}
    for share in DEMANDS:
        for genome in ranking:
            if len(taken) == count:
                return taken
            least = max(1.0, share * counting[genome])
            if all(distance(genome, other) >= least for other in taken):
                taken.append(genome)
    return taken
