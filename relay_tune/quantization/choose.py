"""Which method and which layers, judged by the outputs on samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from relay_tune.quantization.calibration_files import Arrays
from relay_tune.quantization.histogram import Histogram
from relay_tune.quantization.loss import Loss, Outputs, mean_loss
from relay_tune.quantization.precisions import Precisions
from relay_tune.quantization.ranges import METHODS
from relay_tune.quantization.simulation import Simulation, Types
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.quantize.stored_type import StoredType

AUTO = "auto"
"""All methods are tried."""


def data_types(seen: Mapping[str, Histogram], method: str, dtype: str) -> dict[str, StoredType]:
    """How each tensor is stored with ranges by a method."""
    ranges = {name: METHODS[method](each, dtype) for name, each in seen.items()}
    return {name: StoredType.of_range(dtype, *each) for name, each in ranges.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Tells the loss of choices on some samples.

    Attributes:
        simulation: the network.
        samples: what it is run on.
        expected: the outputs of float32.
        loss: of the outputs of one sample.
    """

    simulation: Simulation
    samples: Sequence[Arrays]
    expected: Sequence[Outputs]
    loss: Loss

    @staticmethod
    def of(simulation: Simulation, samples: Sequence[Arrays], types: Types, loss: Loss) -> Judge:
        """With the outputs of float32."""
        expected = [simulation.outputs(sample, types, {}) for sample in samples]
        return Judge(simulation, samples, expected, loss)

    def __call__(self, types: Types, precisions: Precisions) -> float:
        """The loss of a choice."""
        found = [self.simulation.outputs(sample, types, precisions) for sample in self.samples]
        return mean_loss(self.loss, self.expected, found)

    def alone(self, types: Types, precision: str) -> dict[str, float]:
        """The loss of each layer where it alone has a precision."""
        return {layer: self(types, {layer: precision}) for layer in self.simulation.layers}

    def within(self, types: Types, worst: Sequence[str], most: float, precision: str) -> list[str]:
        """The layers that stay in float32 for a loss of no more than `most`.

        The least number of the first of `worst`, the others have a precision; where the loss does
        not fall with their number, a number that suffices.
        """

        def suffices(number: int) -> bool:
            return self(types, dict.fromkeys(worst[number:], precision)) <= most

        count = fewest(len(worst), suffices)
        return list(worst[:count])


def fewest(most: int, suffices: Callable[[int], bool]) -> int:
    """The least number that suffices, found by halving; `most` is known to."""
    few, many = 0, most
    while few < many:
        middle = (few + many) // 2
        if suffices(middle):
            many = middle
        else:
            few = middle + 1
    return many


def worst_first(alone: Mapping[str, float]) -> list[str]:
    """Layers in the order of their loss, the largest first."""
    return sorted(alone, key=lambda layer: (-alone[layer], layer))


def best_method(losses: Mapping[str, float]) -> str:
    """The method with the least loss, the first of equal ones."""
    return min(losses, key=lambda method: losses[method])


def method_names(method: str) -> Iterable[str]:
    """The methods that are tried."""
    return METHODS if method == AUTO else (method,)
