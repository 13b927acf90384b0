"""A network with known ranges: what any choice of layers becomes, and what it loses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from relay_tune.errors import InputError
from relay_tune.ir.module import Module
from relay_tune.quantization.calibration_files import Arrays
from relay_tune.quantization.choose import Judge, best_method, data_types, method_names
from relay_tune.quantization.collect import collect
from relay_tune.quantization.histogram import Histogram
from relay_tune.quantization.loss import Loss
from relay_tune.quantization.precisions import BFLOAT16, INT8, WEIGHT_BITS, Precisions
from relay_tune.quantization.programs import output_tensors
from relay_tune.quantization.simulation import Simulation, Types
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.quantize.annotate import Annotate
from relay_tune.transform.quantize.calibrate import Calibrate
from relay_tune.transform.quantize.layers import QuantizableLayer, layers_of
from relay_tune.transform.quantize.readers import read_tensors
from relay_tune.transform.quantize.realize import Realize
from relay_tune.transform.quantize.rounded_layers import with_rounded_layers
from relay_tune.transform.quantize.stored_weights import weight_types

MOST_REASONS = 8
"""How many layers a message names."""

LISTENED = 4
"""How many samples the loss of each layer alone is computed on."""


@dataclass(frozen=True, slots=True)
class Means:
    """Settings of a calibration.

    Attributes:
        dtype: of data that are stored as integers.
        method: how ranges are chosen, or "auto".
        loss: of the outputs of a sample.
        threads: of programs; None for all processors.
        precisions: that layers may be in beside float32; the first is in integers, and that of all
            layers where none is chosen for each.
    """

    dtype: str
    method: str
    loss: Loss
    threads: int | None
    precisions: tuple[str, ...] = (INT8,)

    @property
    def integers(self) -> str:
        """The precision of layers in integers where none is chosen for each."""
        return self.precisions[0]


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """A network of float32 of which it is known how its tensors could be stored.

    Attributes:
        network: prepared.
        means: what it was calibrated with.
        layers: all with weights of float32, in order.
        stay: those that have to stay in float32, and why.
        types: how data are stored, by the names of annotations.
        judge: tells the loss of any layers in integers.
        losses: of all layers in integers, by method of choosing ranges.
    """

    network: Module
    means: Means
    layers: Sequence[QuantizableLayer]
    stay: Mapping[str, str]
    types: Types
    judge: Judge
    losses: Mapping[str, float]

    @property
    def free(self) -> tuple[str, ...]:
        """The layers that may be computed in integers."""
        return self.judge.simulation.layers

    @property
    def method(self) -> str:
        """The method with the least loss."""
        return best_method(self.losses)

    def loss(self, precisions: Precisions) -> float:
        """The simulated loss of a choice."""
        return self.judge(self.types, precisions)

    def alone(self) -> dict[str, float]:
        """The loss of each layer where it alone is in integers, on a few of the samples."""
        judge = self.judge
        few = judge.samples[:: max(1, -(-len(judge.samples) // LISTENED))]
        quick = Judge.of(judge.simulation, few, self.types, self.means.loss)
        return quick.alone(self.types, self.means.integers)

    def steps(self, precisions: Precisions) -> dict[str, Module]:
        """The network after each pass under a choice; the last is the result."""
        bits = {name: WEIGHT_BITS[each] for name, each in precisions.items() if each in WEIGHT_BITS}
        kept = frozenset(self.stay) | {name for name in self.free if name not in bits}
        annotated = Annotate(self.means.dtype, kept)(self.network)
        weights = weight_types(annotated, self.types, bits)
        calibrated = Calibrate({**self.types, **weights})(annotated)
        return {
            "annotate": annotated,
            "calibrate": calibrated,
            "realize": with_rounded_layers(
                Realize()(calibrated),
                [each.weight for each in self.layers if precisions.get(each.name) == BFLOAT16],
            ),
        }


def calibrate(
    network: Module,
    means: Means,
    ranges: Iterable[Arrays],
    judged: Sequence[Arrays],
) -> Calibrated:
    """Ranges from some samples, and the method with the least loss on others.

    Raises InputError where no layer can be quantized.
    """
    layers = quantizable_layers(network, means.dtype)
    stay = {each.name: each.reason for each in layers if each.reason is not None}
    output_tensors(network)
    seen = _seen(network, means, ranges, stay)
    require_some(layers, stay)
    types = {name: data_types(seen, name, means.dtype) for name in method_names(means.method)}
    first = next(iter(types.values()))
    annotated = Annotate(means.dtype, frozenset(stay))(network)
    simulation = Simulation(annotated, first, means.dtype, means.threads, means.precisions)
    judge = Judge.of(simulation, judged, first, means.loss)
    everything = dict.fromkeys(simulation.layers, means.integers)
    losses = {name: judge(each, everything) for name, each in types.items()}
    return Calibrated(network, means, layers, stay, types[best_method(losses)], judge, losses)


def quantizable_layers(network: Module, dtype: str) -> list[QuantizableLayer]:
    """All layers; InputError where none of them can be quantized, whatever the samples are."""
    layers = layers_of(network, dtype)
    require_some(layers, {each.name: each.reason for each in layers if each.reason is not None})
    return layers


def require_some(layers: Sequence[QuantizableLayer], stay: Mapping[str, str]) -> None:
    """Raise InputError where all layers stay in float32."""
    if any(layer.name not in stay for layer in layers):
        return
    reasons = tuple(f"{name} stays in float32: {why}." for name, why in stay.items())
    raise InputError(
        "No layer of the network can be quantized.",
        notes=reasons[:MOST_REASONS] or ("It has no layers with constant weights of float32.",),
        remedy="Build the network as it is.",
    )


def _seen(
    network: Module, means: Means, ranges: Iterable[Arrays], stay: dict[str, str]
) -> dict[str, Histogram]:
    """Histograms of annotated tensors; layers whose data have no range are added to `stay`."""
    annotated = Annotate(means.dtype, frozenset(stay))(network)
    seen = collect(annotated, ranges, means.threads)
    for layer, names in read_tensors(annotated, means.dtype).items():
        for name in sorted(names):
            if seen[name].infinite:
                stay[layer] = f"its data ({name}) are NaN or infinite for some sample"
            elif not seen[name].is_usable:
                stay[layer] = f"its data ({name}) are {_all_of(seen[name])} for all samples"
    return {name: each for name, each in seen.items() if each.is_usable}


def _all_of(seen: Histogram) -> str:
    return "0" if seen.low == seen.high == 0 else "too near to 0"
