"""Which schedules of a task a cost model learns from."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from benchmarks.searching.block_tasks import SEED
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.program_space import ProgramSpace
from search import GeneticSearch, Genome, RandomSearch

SCHEDULES = 32
"""Candidates of a task; fewer where its space has not so many."""

FORESEEN = 8
"""How many of them are those with the best estimates."""

DRAWN_FROM = 256
"""Random schedules of which the others are drawn."""


def chosen_schedules(space: ProgramSpace) -> list[Schedule]:
    """Different schedules of a task: with good estimates, and at random, rather good than bad."""

    def score(genomes: Sequence[Genome]) -> list[float]:
        return [-space.cycles(space.schedule(genome)) for genome in genomes]

    known = [space.genome(schedule) for schedule in space.defaults]
    initial = [genome for genome in known if genome is not None]
    search = GeneticSearch(space.space, SEED, exploration=0.0, initial=initial)
    found = dict.fromkeys(space.schedule(g) for g in search.propose(FORESEEN, score))
    others = random_schedules(space, score)
    generator = random.Random(SEED)
    while others and len(found) < SCHEDULES:
        place = int(math.exp(generator.random() * math.log(len(others) + 1))) - 1
        found.setdefault(others.pop(place))
    return list(found)


def random_schedules(
    space: ProgramSpace, score: Callable[[Sequence[Genome]], Sequence[float]]
) -> list[Schedule]:
    """Random schedules, the best estimate first."""
    genomes = RandomSearch(space.space, SEED).propose(DRAWN_FROM)
    scores = dict(zip(genomes, score(genomes), strict=True))
    ranked = sorted(genomes, key=scores.__getitem__, reverse=True)
    return list(dict.fromkeys(space.schedule(genome) for genome in ranked))
