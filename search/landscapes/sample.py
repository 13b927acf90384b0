"""Tables drawn from a landscape."""

import random

from search.landscapes.machine import Landscape
from search.table import SearchTable, TableRow


def sample_table(landscape: Landscape, rows: int, seed: int) -> SearchTable:
    """A table of random distinct points of a landscape, all of them where it has no more."""
    genomes = landscape.space.enumerate(landscape.space.size)
    random.Random(seed).shuffle(genomes)
    return SearchTable(
        landscape.name,
        landscape.space.choices,
        tuple(
            TableRow(genome, tuple(landscape.features(genome)), landscape.seconds(genome))
            for genome in genomes[:rows]
        ),
    )
