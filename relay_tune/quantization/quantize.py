"""`quantize`: a network of float32 as one of integers, calibrated with samples.

B. Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference" (CVPR 2018); M. Nagel et al., "A White Paper on Neural Network Quantization" (2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from types import MappingProxyType

from relay_tune.arguments import did_you_mean, function_argument
from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError
from relay_tune.ir.module import Module
from relay_tune.machine.pattern import SIGNED_BYTES, UNSIGNED_BY_SIGNED
from relay_tune.op_rules.quantize.affine import BYTES
from relay_tune.quantization.calibrated import (
    Calibrated,
    Means,
    calibrate,
    quantizable_layers,
    require_some,
)
from relay_tune.quantization.calibration_data import CalibrationData, Given
from relay_tune.quantization.choose import AUTO, worst_first
from relay_tune.quantization.loss import Loss, mean_loss, output_error
from relay_tune.quantization.prepared import prepared
from relay_tune.quantization.programs import input_types, native_program, output_tensors, results
from relay_tune.quantization.ranges import METHODS
from relay_tune.quantization.report import LayerReport, QuantizationReport
from relay_tune.quantization.weight_only import (
    JUDGED,
    WEIGHT_TYPES,
    constant_bytes,
    loss_of,
    with_narrow_weights,
)
from relay_tune.runtime.describe import counted

INT8, FLOAT32 = "int8", "float32"

SCHEMES = (INT8, *WEIGHT_TYPES)

ACTIVATIONS: Mapping[str, Sequence[str]] = {
    "w8": ("float32", "int8"),
    "w4": ("float32", "int8"),
    "bf16": ("float32",),
}
"""What data may become beside weights of a scheme; bytes where this does not say."""

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
        activations: "uint8" or "int8"; "auto" takes what this machine multiplies. With "w8" and
            "w4" data are float32, or with "int8" may be rounded to bytes in products of many rows,
            with a scale for 32 of them in a row, when the program runs; "auto" is float32.
        max_loss: the layers that hurt most stay in float32 until the loss is no more than this.
        loss: loss(outputs of float32, outputs) of a sample; by default the root mean square error
            of the outputs as a part of their magnitude.
        threads: of the programs that are run; by default all processors of this process.
        details: is told what was done.

    The network is built for this machine and run on the samples several times. Raises InputError
    for samples that do not fit, and where no layer can be quantized.
    """
    check_options(scheme, method, activations, max_loss)
    judged = function_argument(loss, "loss")
    report = QuantizationReport() if details is None else details
    network = prepared(module)
    if scheme != INT8:
        if max_loss is not None:
            raise InputError(
                f"There is no bound on the loss of {scheme!r}: its layers are not chosen.",
                remedy="Omit max_loss, and look at the loss in the report.",
            )
        return _weights_only(network, calibration, (scheme, activations), judged, threads, report)
    if calibration is None:
        raise InputError(
            "There are no calibration data, which 'int8' needs for the ranges of data.",
            remedy="Give inputs as the model will see them, a hundred or so.",
        )
    means = Means(stored_type(activations), method, judged, threads)
    quantizable_layers(network, means.dtype)
    samples = CalibrationData(calibration, input_types(network))
    calibrated = calibrate(network, means, samples, samples.spread(JUDGED))
    return _quantized(calibrated, samples, max_loss, report)


def _weights_only(
    network: Module,
    calibration: Given | None,
    types: tuple[str, str],
    loss: Loss,
    threads: int | None,
    report: QuantizationReport,
) -> Module:
    """The network with weights in fewer bits; `types` are the scheme and that of activations."""
    samples = None
    if calibration is not None:
        samples = CalibrationData(calibration, input_types(network))
    result = with_narrow_weights(network, *types, report)
    report.steps = {"realize": result}
    if samples is not None:
        report.samples = samples.count
        report.loss = loss_of(network, result, samples, loss, threads)
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
        for layer in calibrated.judge.within(calibrated.types, worst_first(alone), max_loss):
            stay[layer] = f"with it the loss would be above {max_loss:g}"
    require_some(calibrated.layers, stay)
    report.steps = calibrated.steps([each for each in calibrated.free if each not in stay])
    result = report.steps["realize"]
    tell_layers(report, calibrated, alone, stay)
    tell_samples(report, samples)
    report.loss = loss_of_result(calibrated, result)
    return result


def loss_of_result(calibrated: Calibrated, result: Module) -> float:
    """The loss of a result as this machine computes it."""
    program = native_program(result, output_tensors(result), (), calibrated.means.threads)
    judge = calibrated.judge
    found = [results(program, sample) for sample in judge.samples]
    return mean_loss(judge.loss, judge.expected, found)


def tell_layers(
    report: QuantizationReport,
    calibrated: Calibrated,
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
            FLOAT32 if each.name in stay else INT8,
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


def stored_type(wanted: str) -> str:
    """The type that this machine multiplies with signed weights, unless one is wanted."""
    if wanted != "auto":
        return wanted
    products = native_target().machine.dot_products
    is_signed = SIGNED_BYTES.name in products and UNSIGNED_BY_SIGNED.name not in products
    return "int8" if is_signed else "uint8"


def check_options(
    scheme: str,
    method: str,
    activations: str,
    max_loss: float | None,
    schemes: Sequence[str] = SCHEMES,
) -> None:
    """Raise InputError for options that cannot be."""
    options = (
        ("scheme", scheme, schemes),
        ("method", method, (AUTO, *METHODS)),
        ("type of activations", activations, (AUTO, *ACTIVATIONS.get(scheme, BYTES))),
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
