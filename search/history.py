"""What a search remembers: which genomes it has seen, and what they were worth."""

import math

from search.space import Genome, Space


class History:
    """Genomes seen (proposed or told) and the values of those that were measured."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._seen: set[Genome] = set()
        self._values: dict[Genome, float] = {}

    def __contains__(self, genome: Genome) -> bool:
        return genome in self._seen

    def __len__(self) -> int:
        return len(self._seen)

    def mark(self, genome: Genome) -> None:
        """Remember that a genome was proposed."""
        self._seen.add(genome)

    def tell(self, genome: Genome, value: float | None) -> None:
        """Remember a measured value; None or a value that is not finite means failed."""
        self._space.check(genome)
        self._seen.add(genome)
        self._values.pop(genome, None)
        if value is not None and math.isfinite(value):
            self._values[genome] = float(value)

    def ranked(self) -> list[tuple[Genome, float]]:
        """Measured genomes with their values, best first; equal ones in the order told."""
        return sorted(self._values.items(), key=lambda item: -item[1])

    @property
    def best(self) -> tuple[Genome, float] | None:
        """The best measured genome and its value, the earliest of equals."""
        if not self._values:
            return None
        return max(self._values.items(), key=lambda item: item[1])
