"""`quantize`: a network of float32 as one of integers, calibrated with samples.

B. Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference" (CVPR 2018); M. Nagel et al., "A White Paper on Neural Network Quantization" (2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from relay_tune.errors import InputError
from relay_tune.ir.module import Module
from relay_tune.quantization.calibrated import (
    Calibrated,
    calibrate,
    quantizable_layers,
    require_some,
)
from relay_tune.quantization.calibration_data import CalibrationData, Given
from relay_tune.quantization.choose import worst_first
from relay_tune.quantization.loss import mean_loss
from relay_tune.quantization.options import QuantizationOptions
from relay_tune.quantization.precisions import FLOAT32, INT8, Precisions
from relay_tune.quantization.prepared import prepared
from relay_tune.quantization.programs import input_types, native_program, output_tensors, results
from relay_tune.quantization.report import LayerReport, QuantizationReport, report_argument
from relay_tune.quantization.weight_only import JUDGED, constant_bytes, loss_of, with_narrow_weights
from relay_tune.runtime.describe import counted

FEW = 8
"""Samples below which the report says that ranges may be too narrow."""


def quantize(
    module: Module,
    options: QuantizationOptions,
    calibration: Given | None,
    details: QuantizationReport | None,
) -> Module:
    """The network in fewer bits by a fixed scheme, as `relay_tune.quantize` says.

    Raises InputError for samples that do not fit, and where no layer can be quantized.
    """
    report = report_argument(details)
    network = prepared(module)
    if options.scheme != INT8:
        return _weights_only(network, calibration, options, report)
    if calibration is None:
        raise InputError(
            "There are no calibration data, which 'int8' needs for the ranges of data.",
            remedy="Give inputs as the model will see them, a hundred or so.",
        )
    means = options.means()
    quantizable_layers(network, means.dtype)
    samples = CalibrationData(calibration, input_types(network))
    calibrated = calibrate(network, means, samples, samples.spread(JUDGED))
    return _quantized(calibrated, samples, options.max_loss, report)


def _weights_only(
    network: Module,
    calibration: Given | None,
    options: QuantizationOptions,
    report: QuantizationReport,
) -> Module:
    """The network with weights in fewer bits."""
    if options.max_loss is not None:
        raise InputError(
            f"There is no bound on the loss of {options.scheme!r}: its layers are not chosen.",
            remedy="Omit max_loss, and look at the loss in the report.",
        )
    samples = None
    if calibration is not None:
        samples = CalibrationData(calibration, input_types(network))
    result = with_narrow_weights(network, options.scheme, options.activations, report)
    report.steps = {"realize": result}
    if samples is not None:
        report.samples = samples.count
        report.loss = loss_of(network, result, samples, options.loss, options.threads)
    return result


def _quantized(
    calibrated: Calibrated,
    samples: CalibrationData,
    max_loss: float | None,
    report: QuantizationReport,
) -> Module:
    """The network with all layers in integers, or those that the bound on the loss allows."""
    alone = calibrated.alone()
    stay = dict(calibrated.stay)
    if max_loss is not None:
        for layer in _worst(calibrated, alone, max_loss):
            stay[layer] = f"with it the loss would be above {max_loss:g}"
    require_some(calibrated.layers, stay)
    inside = [each for each in calibrated.free if each not in stay]
    precisions = dict.fromkeys(inside, calibrated.means.integers)
    report.steps = calibrated.steps(precisions)
    result = report.steps["realize"]
    tell_layers(report, calibrated, precisions, alone, stay)
    tell_samples(report, samples)
    report.loss = loss_of_result(calibrated, result)
    return result


def _worst(calibrated: Calibrated, alone: Mapping[str, float], max_loss: float) -> list[str]:
    """The layers that have to stay in float32 for a loss of no more than this."""
    judge, integers = calibrated.judge, calibrated.means.integers
    return judge.within(calibrated.types, worst_first(alone), max_loss, integers)


def loss_of_result(calibrated: Calibrated, result: Module) -> float:
    """The loss of a result as this machine computes it."""
    program = native_program(result, output_tensors(result), (), calibrated.means.threads)
    judge = calibrated.judge
    found = [results(program, sample) for sample in judge.samples]
    return mean_loss(judge.loss, judge.expected, found)


def tell_layers(
    report: QuantizationReport,
    calibrated: Calibrated,
    precisions: Precisions,
    alone: Mapping[str, float],
    stay: Mapping[str, str],
    saved: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Enter the layers of a result, why some of them stay in float32, and what integers save."""
    report.method, report.losses = calibrated.method, dict(calibrated.losses)
    report.layers = [
        LayerReport(
            each.name,
            each.operator,
            precisions.get(each.name, FLOAT32),
            alone.get(each.name),
            stay.get(each.name),
            saved.get(each.name),
        )
        for each in calibrated.layers
    ]
    report.bytes_before = sum(constant_bytes(calibrated.network).values())
    report.bytes_after = sum(constant_bytes(report.steps["realize"]).values())


def tell_samples(report: QuantizationReport, samples: CalibrationData) -> None:
    """Enter how many samples there were, and what users should know of that."""
    report.samples = samples.count
    if samples.left_over:
        report.notes.append(f"{samples.left_over} rows are no whole batch and were left out")
    if samples.count < FEW:
        report.notes.append(
            f"ranges are those of {counted(samples.count, 'sample')}; others may lie outside"
        )
