"""Which precision each layer has, and the space of such choices.

The precisions of a layer are data: a further one (weights of few bits) is a name more in `options`,
what builds it, and what simulates its loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from relay_tune.quantization.options import BFLOAT16, FLOAT32, INT8
from relay_tune.quick_dataclass import dataclass
from search import Choice, Genome, Space

Precisions: TypeAlias = Mapping[str, str]
"""The name of the precision of each layer, by the name of the layer."""


@dataclass(frozen=True, slots=True)
class PrecisionSpace:
    """Precisions that layers can be computed in.

    Attributes:
        options: the precisions of each layer; the first is that of the network as it was given.
    """

    options: Mapping[str, Sequence[str]]

    @staticmethod
    def of_layers(layers: Sequence[str], *, rounds: bool = False) -> PrecisionSpace:
        """Layers that are computed in float32 or in integers of 8 bits.

        With `rounds`, also in bfloat16.
        """
        between = (BFLOAT16,) if rounds else ()
        return PrecisionSpace(dict.fromkeys(layers, (FLOAT32, *between, INT8)))

    @property
    def rounds(self) -> bool:
        """Whether layers may be in bfloat16."""
        return any(BFLOAT16 in each for each in self.options.values())

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


def layers_in(precisions: Precisions, precision: str) -> list[str]:
    """The layers with a precision, in order."""
    return [layer for layer, each in precisions.items() if each == precision]
