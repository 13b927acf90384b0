"""The space of choices of a precision for each layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.quantization.precisions import FLOAT32, MOST_EXACT_FIRST, WEIGHT_BITS, Precisions
from relay_tune.quick_dataclass import dataclass
from search import Choice, Genome, Space


@dataclass(frozen=True, slots=True)
class PrecisionSpace:
    """Precisions that layers can be computed in.

    Attributes:
        options: the precisions of each layer; the first is that of the network as it was given.
    """

    options: Mapping[str, Sequence[str]]

    @staticmethod
    def of_layers(layers: Sequence[str], precisions: Sequence[str]) -> PrecisionSpace:
        """Layers that are computed in float32, or in one of these precisions."""
        known = {FLOAT32, *precisions}
        options = tuple(each for each in MOST_EXACT_FIRST if each in known)
        return PrecisionSpace(dict.fromkeys(layers, options))

    @property
    def offered(self) -> tuple[str, ...]:
        """The precisions that some layer may have beside that of the network as it was given."""
        return tuple(dict.fromkeys(each for own in self.options.values() for each in own[1:]))

    @property
    def integers(self) -> str:
        """The most exact precision in integers."""
        offered = set(WEIGHT_BITS) & set(self.offered)
        return next(each for each in MOST_EXACT_FIRST if each in offered)

    def space(self) -> Space:
        """The same for the search."""
        return Space(tuple(Choice(layer, tuple(each)) for layer, each in self.options.items()))

    def genome(self, precisions: Precisions) -> Genome:
        """The genome of a choice; layers that are not named are as they were."""
        pairs = self.options.items()
        return tuple(list(each).index(precisions.get(layer, each[0])) for layer, each in pairs)

    def precisions(self, genome: Genome) -> dict[str, str]:
        """The choice that a genome stands for."""
        pairs = zip(self.options.items(), genome, strict=True)
        return {layer: each[gene] for (layer, each), gene in pairs}
