"""Genetic search: evolves on predicted worth, measures the most promising, keeps exploring."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

from search.errors import SearchError
from search.evolution import EvolutionSettings, check_share, evolve
from search.history import History
from search.random_state import module_random
from search.sampling import FreshSampler, random_genomes
from search.selection import spread
from search.space import Genome, Space
from search.strategy import Score


class GeneticSearch:
    """Proposes what evolves best on a predicted worth, and a share of pure exploration.

    Each proposal starts from the best measured genomes, the most promising ones of the evolution
    before, which go on evolving under a score that has learned since, and random ones. Without a
    score the measured genomes are the parents, and their unmeasured children the proposals.
    """

    def __init__(
        self,
        space: Space,
        seed: int,
        population: int = 128,
        generations: int = 6,
        crossover: float = 0.7,
        mutation: float = 0.7,
        exploration: float = 0.2,
        elite: float = 0.1,
        carried: float = 0.4,
        initial: Sequence[Genome] = (),
    ) -> None:
        """A search over a space.

        population, generations, crossover, mutation: see `EvolutionSettings`.
        exploration: probability that a proposal is a random genome.
        elite: share of the population that starts from the best measured genomes.
        carried: share that starts from the most promising genomes of the evolution before.
        initial: genomes to propose first, such as defaults or the best of an earlier search.
        """
        check_share("exploration", exploration)
        check_share("elite", elite)
        check_share("carried", carried)
        self._space = space
        self._settings = EvolutionSettings(population, generations, crossover, mutation)
        self._exploration = exploration
        self._elites = max(1, round(elite * population))
        self._initial = _checked_initial(space, initial)
        self._evolved: list[Genome] = []
        self._carried = round(carried * population)
        self._rng = random.Random(seed)
        self._history = History(space)
        self._sampler = FreshSampler(space, self._history, self._rng)

    def propose(self, count: int, score: Score | None = None) -> list[Genome]:
        """Up to `count` genomes, see `SearchStrategy.propose`."""
        proposals = self._take_initial(count)
        promising = sum(
            self._rng.random() >= self._exploration for _ in range(count - len(proposals))
        )
        if promising and (score is not None or self._history.best is not None):
            proposals += self._take_promising(promising, score)
        return proposals + self._sampler.draw(count - len(proposals))

    def tell(self, genome: Genome, value: float | None) -> None:
        """Report a measurement, see `SearchStrategy.tell`."""
        self._history.tell(genome, value)

    @property
    def best(self) -> tuple[Genome, float] | None:
        """The best genome told so far and its value."""
        return self._history.best

    def _take_initial(self, count: int) -> list[Genome]:
        """Initial genomes not seen so far, in their order."""
        taken: list[Genome] = []
        while self._initial and len(taken) < count:
            genome = self._initial.pop(0)
            if genome not in self._history:
                self._history.mark(genome)
                taken.append(genome)
        return taken

    def _take_promising(self, count: int, score: Score | None) -> list[Genome]:
        ranking = self._offspring() if score is None else self._predicted_best(score)
        unseen = [genome for genome in ranking if genome not in self._history]
        taken = spread(self._space, unseen, count)
        for genome in taken:
            self._history.mark(genome)
        return taken

    def _predicted_best(self, score: Score) -> list[Genome]:
        """Genomes met by an evolution on the score, the most promising first."""
        elite = [genome for genome, _ in self._history.ranked()[: self._elites]]
        carried = [genome for genome in self._evolved if genome not in self._history]
        kept = elite + carried[: self._carried]
        fill = max(0, self._settings.population - len(kept))
        parents = list(dict.fromkeys(kept + random_genomes(self._space, fill, self._rng)))
        if not parents:
            return []
        with module_random(self._rng):
            known = evolve(self._space, parents, _finite(score), self._settings)
        self._evolved = sorted(known, key=known.__getitem__, reverse=True)
        return self._evolved

    def _offspring(self) -> list[Genome]:
        """Children of measured genomes, in random order, for nothing tells them apart."""
        measured = dict(self._history.ranked()[: self._settings.population])

        def fitness(genomes: Sequence[Genome]) -> list[float]:
            return [measured.get(genome, -math.inf) for genome in genomes]

        with module_random(self._rng):
            known = evolve(
                self._space, list(measured), fitness, replace(self._settings, generations=1)
            )
        children = [genome for genome in known if genome not in measured]
        self._rng.shuffle(children)
        return children


def _finite(score: Score) -> Score:
    """The score with everything that is not a number worth nothing, and its length checked."""

    def checked(genomes: Sequence[Genome]) -> list[float]:
        values = [float(value) for value in score(genomes)]
        if len(values) != len(genomes):
            raise SearchError(
                f"score gave {len(values)} values for {len(genomes)} genomes: it must give one each"
            )
        return [value if math.isfinite(value) else -math.inf for value in values]

    return checked


def _checked_initial(space: Space, initial: Sequence[Genome]) -> list[Genome]:
    for genome in initial:
        space.check(genome)
        if not space.valid(genome):
            raise SearchError(f"initial genome {genome!r} violates the constraint of the space")
    return list(dict.fromkeys(initial))
