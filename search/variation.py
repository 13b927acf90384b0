"""Variation of genomes: how children differ from their parents.

The operators work in place on lists of genes and draw from the module-level `random`, as the
operators of DEAP do; `search.random_state` keeps that reproducible.
"""

import random
from collections.abc import MutableSequence

from search.space import Space

STEP_SHARE = 0.5
"""Share of mutated genes that move by one step; the others are drawn anew."""


def mutate(genes: MutableSequence[int], space: Space) -> None:
    """Change one gene at least, and on average one and a half, of those that count."""
    places = [place for place in space.active(genes) if len(space.choices[place].values) > 1]
    if not places:
        return
    certain = random.choice(places)
    for place in places:
        if place == certain or random.random() < 0.5 / len(places):
            genes[place] = _mutated_gene(genes[place], len(space.choices[place].values))


def _mutated_gene(gene: int, values: int) -> int:
    if random.random() < STEP_SHARE:
        return _step(gene, values)
    other = random.randrange(values - 1)
    return other if other < gene else other + 1


def _step(gene: int, values: int) -> int:
    if gene == 0:
        return 1
    if gene == values - 1:
        return gene - 1
    return gene + random.choice((-1, 1))
