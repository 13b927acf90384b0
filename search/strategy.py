"""What every search strategy offers: ask for candidates, tell what they were worth."""

from collections.abc import Callable, Sequence
from typing import Protocol

from search.space import Genome

Score = Callable[[Sequence[Genome]], Sequence[float]]
"""Predicted worth of genomes, higher is better; called with distinct valid genomes."""


class SearchStrategy(Protocol):
    """A search that proposes candidates and learns from what they turned out to be worth.

    The same seed and the same calls give the same proposals. Not safe for several threads.
    """

    def propose(self, count: int, score: Score | None = None) -> list[Genome]:
        """Up to `count` distinct valid genomes that were never proposed or told before.

        Fewer, or none, where bounded work finds no more: the space is exhausted, or as good as.
        """

    def tell(self, genome: Genome, value: float | None) -> None:
        """Report a measured worth (higher is better), or None for a candidate that failed.

        A value that is not finite counts as failed. Told twice, the later value stands.
        """

    @property
    def best(self) -> tuple[Genome, float] | None:
        """The best genome told so far and its value; None before the first success."""
