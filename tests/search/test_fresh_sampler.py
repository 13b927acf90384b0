"""What is left of a space is walked in normal genomes, those that a search can be told about."""

from __future__ import annotations

import random

from search.choice import Choice, Condition
from search.history import History
from search.sampling import FreshSampler
from search.space import Space


def test_the_walk_gives_normal_genomes():
    when_a = Condition("algorithm", "a")
    space = Space(
        (
            Choice("algorithm", ("a", "b")),
            Choice("tile", (1, 2, 4), when_a, 2),
            Choice("width", (1, 2, 4), when_a, 1),
        )
    )
    history = History(space)
    drawn = FreshSampler(space, history, random.Random(0)).draw(space.size)
    assert sorted(drawn) == sorted(space.enumerate(space.size))
    for genome in drawn:
        history.tell(genome, 1.0)
