"""Search over spaces of named choices: random, and genetic guided by a predicted worth.

    search = GeneticSearch(space, seed=0)
    for genome in search.propose(8, score):
        search.tell(genome, measure(space.decode(genome)))

Knows nothing of what is searched; a measurement is any number that is better when higher.
"""

from search.choice import Choice, Condition
from search.errors import EmptySpaceError, SearchError
from search.genetic_search import GeneticSearch
from search.random_search import RandomSearch
from search.replay import replayed, trials_to_reach
from search.space import Genome, Space
from search.strategy import Score, SearchStrategy
from search.table import SearchTable, load_table, save_table

__all__ = [
    "Choice",
    "Condition",
    "EmptySpaceError",
    "GeneticSearch",
    "Genome",
    "RandomSearch",
    "Score",
    "SearchError",
    "SearchStrategy",
    "SearchTable",
    "Space",
    "load_table",
    "save_table",
    "replayed",
    "trials_to_reach",
]
