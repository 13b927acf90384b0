"""Evolution of a population of genomes with DEAP (Fortin et al., JMLR 13, 2012)."""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from deap import algorithms, base, tools

from search.errors import SearchError
from search.space import Genome, Space
from search.variation import mutate

REPAIR_ATTEMPTS = 8

Fitness = Callable[[Sequence[Genome]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class EvolutionSettings:
    """Sizes and rates of the evolution.

    crossover: probability that two parents are mixed, gene by gene.
    mutation: probability that a child is mutated.
    tournament: candidates among which the fittest becomes a parent.
    """

    population: int = 128
    generations: int = 6
    crossover: float = 0.7
    mutation: float = 0.7
    tournament: int = 3

    def __post_init__(self) -> None:
        for name in ("population", "generations", "tournament"):
            if getattr(self, name) < 1:
                raise SearchError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("crossover", "mutation"):
            check_share(name, getattr(self, name))


def check_share(name: str, value: float) -> None:
    """Raise `SearchError` unless a value lies between 0 and 1."""
    if not 0 <= value <= 1:
        raise SearchError(f"{name} must lie between 0 and 1, got {value!r}")


class _Worth(base.Fitness):  # type: ignore[misc]  # DEAP has no annotations
    """One objective, higher is better."""

    weights = (1.0,)


class _Individual(list[int]):
    """A genome under variation, with its fitness (DEAP's convention)."""

    def __init__(self, genes: Iterable[int], fitness: float | None = None) -> None:
        super().__init__(genes)
        self.fitness = _Worth(() if fitness is None else (fitness,))


def evolve(
    space: Space, parents: Sequence[Genome], fitness: Fitness, settings: EvolutionSettings
) -> dict[Genome, float]:
    """Evolve from valid, distinct parents; all genomes met, with their fitness.

    Draws from the module-level `random`. Calls `fitness` once a generation with new genomes
    only; work is bounded by population x generations.
    """
    toolbox = _toolbox(space, settings)
    known = dict(zip(parents, fitness(parents), strict=True))
    population = _fittest(known, settings.population)
    for _ in range(settings.generations):
        children = _children(space, toolbox, population, settings, known)
        fresh = list(dict.fromkeys(children))
        if fresh:
            known.update(zip(fresh, fitness(fresh), strict=True))
        population = _fittest(known, settings.population)
    return known


def _toolbox(space: Space, settings: EvolutionSettings) -> base.Toolbox:
    def mutate_individual(individual: _Individual) -> tuple[_Individual]:
        mutate(individual, space)
        return (individual,)

    toolbox = base.Toolbox()
    toolbox.register("clone", lambda individual: _Individual(individual))
    toolbox.register("mate", tools.cxUniform, indpb=0.5)
    toolbox.register("mutate", mutate_individual)
    toolbox.register("select", tools.selTournament, tournsize=settings.tournament)
    return toolbox


def _fittest(known: dict[Genome, float], count: int) -> list[_Individual]:
    ranked = sorted(known.items(), key=lambda item: -item[1])
    return [_Individual(genome, fitness) for genome, fitness in ranked[:count]]


def _children(
    space: Space,
    toolbox: base.Toolbox,
    population: list[_Individual],
    settings: EvolutionSettings,
    known: Container[Genome],
) -> list[Genome]:
    selected = toolbox.select(population, settings.population)
    varied = algorithms.varAnd(selected, toolbox, settings.crossover, settings.mutation)
    repaired = (_repaired(space, child, known) for child in varied)
    return [genome for genome in repaired if genome is not None]


def _repaired(space: Space, child: _Individual, known: Container[Genome]) -> Genome | None:
    """The child, mutated further while it is invalid or known; None where that does not help."""
    for _ in range(REPAIR_ATTEMPTS):
        genome = space.normal(tuple(child))
        if genome not in known and space.valid(genome):
            return genome
        mutate(child, space)
    return None
