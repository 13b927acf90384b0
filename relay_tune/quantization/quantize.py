"""`quantize`: a network of float32 as one of integers, calibrated with samples.

B. Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference" (CVPR 2018); M. Nagel et al., "A White Paper on Neural Network Quantization" (2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from relay_tune.arguments import did_you_mean, function_argument
from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError
from relay_tune.ir.module import Module
from relay_tune.machine.pattern import SIGNED_BYTES, UNSIGNED_BY_SIGNED
from relay_tune.op_rules.quantize.affine import BYTES
from relay_tune.quantization.calibration_data import CalibrationData, Given
from relay_tune.quantization.choose import AUTO, Judge, best_method, data_types, method_names
from relay_tune.quantization.collect import collect
from relay_tune.quantization.histogram import Histogram
from relay_tune.quantization.loss import Loss, mean_loss, output_error
from relay_tune.quantization.prepared import prepared
from relay_tune.quantization.programs import input_types, native_program, output_tensors, results
from relay_tune.quantization.ranges import METHODS
from relay_tune.quantization.report import LayerReport, QuantizationReport
from relay_tune.quantization.simulation import Simulation, Types
from relay_tune.quantization.weight_only import (
    JUDGED,
    WEIGHT_TYPES,
    constant_bytes,
    loss_of,
    with_narrow_weights,
)
from relay_tune.runtime.describe import counted
from relay_tune.transform.quantize.annotate import Annotate
from relay_tune.transform.quantize.calibrate import Calibrate
from relay_tune.transform.quantize.layers import QuantizableLayer, layers_of
from relay_tune.transform.quantize.readers import read_tensors
from relay_tune.transform.quantize.realize import Realize
from relay_tune.transform.quantize.stored_weights import weight_types

INT8 = "int8"

SCHEMES = (INT8, *WEIGHT_TYPES)

LISTENED = 4
"""How many samples the loss of each layer alone is computed on."""

MOST_REASONS = 8
"""How many layers a message names."""

FEW = 8
"""Samples below which the report says that ranges may be too narrow."""


def quantize(
    module: Module,
    *,
    calibration: Given | None = None,
    scheme: str = INT8,
    method: str = "auto",
    activations: str = "auto",
    max_loss: float | None = None,
    loss: Loss = output_error,
    threads: int | None = None,
    details: QuantizationReport | None = None,
) -> Module:
    """A network in fewer bits; with `int8` its layers compute in integers, with QDQ pairs around.

    Args:
        module: a network of float32 with tensors as inputs and outputs.
        calibration: inputs as the network will see them: a dict of arrays, an iterable of such
            dicts (or of arrays for a network with one input), a .npz or .npy file, or a folder of
            these. Arrays with an axis more, or with a longer first axis, are several samples. Only
            "int8" needs them; of others they tell the loss.
        scheme: "int8": data and weights of one byte, sums in int32; "w8", "w4" and "bf16": weights
            in 8 or 4 bits, with a scale for 32 of them, or bfloat16, and sums in float32.
        method: how ranges of data are chosen: "minmax", "percentile", "entropy" or "mse"; "auto"
            takes the one with the least loss.
        activations: "uint8" or "int8"; "auto" takes what this machine multiplies.
        max_loss: the layers that hurt most stay in float32 until the loss is no more than this.
        loss: loss(outputs of float32, outputs) of a sample; by default the root mean square error
            of the outputs as a part of their magnitude.
        threads: of the programs that are run; by default all processors of this process.
        details: is told what was done.

    The network is built for this machine and run on the samples several times. Raises InputError
    for samples that do not fit, and where no layer can be quantized.
    """
    _check_options(scheme, method, activations, max_loss)
    judged = function_argument(loss, "loss")
    report = QuantizationReport() if details is None else details
    network = prepared(module)
    if scheme != INT8:
        if max_loss is not None:
            raise InputError(
                f"There is no bound on the loss of {scheme!r}: its layers are not chosen.",
                remedy="Omit max_loss, and look at the loss in the report.",
            )
        return _weights_only(network, calibration, scheme, judged, threads, report)
    if calibration is None:
        raise InputError(
            "There are no calibration data, which 'int8' needs for the ranges of data.",
            remedy="Give inputs as the model will see them, a hundred or so.",
        )
    run = _Run(network, _activations(activations), judged, threads, report)
    return run.quantized(calibration, method, max_loss)


def _weights_only(
    network: Module,
    calibration: Given | None,
    scheme: str,
    loss: Loss,
    threads: int | None,
    report: QuantizationReport,
) -> Module:
    samples = None
    if calibration is not None:
        samples = CalibrationData(calibration, input_types(network))
    result = with_narrow_weights(network, scheme, report)
    report.steps = {"realize": result}
    if samples is not None:
        report.samples = samples.count
        report.loss = loss_of(network, result, samples, loss, threads)
    return result


@dataclass(slots=True)
class _Run:
    """One quantization.

    Attributes:
        network: of float32, prepared.
        dtype: of data.
        loss: of a sample.
        threads: of programs.
        report: what is told.
        stay: the layers that stay in float32, and why.
    """

    network: Module
    dtype: str
    loss: Loss
    threads: int | None
    report: QuantizationReport
    stay: dict[str, str] = field(default_factory=dict)

    def quantized(self, calibration: Given, method: str, max_loss: float | None) -> Module:
        """The result of all steps."""
        layers = layers_of(self.network, self.dtype)
        self.stay.update({each.name: each.reason for each in layers if each.reason is not None})
        self._require_some(layers)
        output_tensors(self.network)
        samples = CalibrationData(calibration, input_types(self.network))
        seen = self._seen(samples)
        self._require_some(layers)
        judge, types = self._judge(samples, seen, method)
        alone = self._alone(judge, samples, types)
        if max_loss is not None:
            for layer in judge.within(types, alone, max_loss):
                self.stay[layer] = f"with it the loss would be above {max_loss:g}"
        self._require_some(layers)
        result = self._realized(types)
        self._tell(layers, alone, samples)
        self.report.loss = self._loss_of(result, judge)
        return result

    def _require_some(self, layers: Sequence[QuantizableLayer]) -> None:
        if any(layer.name not in self.stay for layer in layers):
            return
        reasons = tuple(f"{name} stays in float32: {why}." for name, why in self.stay.items())
        raise InputError(
            "No layer of the network can be quantized.",
            notes=reasons[:MOST_REASONS] or ("It has no layers with constant weights of float32.",),
            remedy="Build the network as it is.",
        )

    def _annotated(self) -> Module:
        return Annotate(self.dtype, frozenset(self.stay))(self.network)

    def _seen(self, samples: CalibrationData) -> dict[str, Histogram]:
        """What annotated tensors have; layers whose data have no range stay in float32."""
        annotated = self._annotated()
        seen = collect(annotated, samples, self.threads)
        for layer, names in read_tensors(annotated, self.dtype).items():
            for name in sorted(names):
                if seen[name].infinite:
                    self.stay[layer] = f"its data ({name}) are NaN or infinite for some sample"
                elif not seen[name].is_usable:
                    self.stay[layer] = f"its data ({name}) are 0 for all samples"
        return {name: each for name, each in seen.items() if each.is_usable}

    def _judge(
        self, samples: CalibrationData, seen: dict[str, Histogram], method: str
    ) -> tuple[Judge, Types]:
        """What tells losses, and how data are stored with the best method."""
        types = {name: data_types(seen, name, self.dtype) for name in method_names(method)}
        first = next(iter(types.values()))
        simulation = Simulation(self._annotated(), first, self.dtype, self.threads)
        judge = Judge.of(simulation, samples.spread(JUDGED), first, self.loss)
        losses = {name: judge(each, simulation.layers) for name, each in types.items()}
        self.report.method, self.report.losses = best_method(losses), losses
        return judge, types[self.report.method]

    def _alone(self, judge: Judge, samples: CalibrationData, types: Types) -> dict[str, float]:
        few = Judge.of(judge.simulation, samples.spread(LISTENED), types, self.loss)
        return few.alone(types)

    def _realized(self, data: Types) -> Module:
        annotated = self._annotated()
        calibrated = Calibrate({**data, **weight_types(annotated, data)})(annotated)
        realized = Realize()(calibrated)
        self.report.steps = {
            "annotate": annotated,
            "calibrate": calibrated,
            "realize": realized,
        }
        return realized

    def _loss_of(self, result: Module, judge: Judge) -> float:
        """Of the result as this machine computes it."""
        program = native_program(result, output_tensors(result), (), self.threads)
        found = [results(program, sample) for sample in judge.samples]
        return mean_loss(self.loss, judge.expected, found)

    def _tell(
        self,
        layers: Sequence[QuantizableLayer],
        alone: Mapping[str, float],
        samples: CalibrationData,
    ) -> None:
        report = self.report
        report.layers = [
            LayerReport(
                each.name,
                each.operator,
                "float32" if each.name in self.stay else "int8",
                alone.get(each.name),
                self.stay.get(each.name),
            )
            for each in layers
        ]
        report.samples = samples.count
        report.bytes_before = sum(constant_bytes(self.network).values())
        report.bytes_after = sum(constant_bytes(report.steps["realize"]).values())
        if samples.left_over:
            report.notes.append(f"{samples.left_over} rows are no whole batch and were left out")
        if samples.count < FEW:
            report.notes.append(
                f"ranges are those of {counted(samples.count, 'sample')}; others may lie outside"
            )


def _activations(wanted: str) -> str:
    """The type that this machine multiplies with signed weights, unless one is wanted."""
    if wanted != "auto":
        return wanted
    products = native_target().machine.dot_products
    is_signed = SIGNED_BYTES.name in products and UNSIGNED_BY_SIGNED.name not in products
    return "int8" if is_signed else "uint8"


def _check_options(scheme: str, method: str, activations: str, max_loss: float | None) -> None:
    options = (
        ("scheme", scheme, SCHEMES),
        ("method", method, (AUTO, *METHODS)),
        ("type of activations", activations, (AUTO, *BYTES)),
    )
    for what, value, known in options:
        if value not in known:
            raise InputError(
                f"There is no {what} {value!r} of quantization.",
                remedy=did_you_mean(str(value), known, f"Use one of: {', '.join(known)}."),
            )
    is_number = isinstance(max_loss, int | float) and not isinstance(max_loss, bool)
    if max_loss is not None and not (is_number and 0 < max_loss < inf):
        raise InputError(
            f"The largest loss is {max_loss!r}, but must be a finite number above 0.",
            remedy="Give a part of the outputs' magnitude, for example 0.02.",
        )
