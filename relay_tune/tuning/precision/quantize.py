"""`quantize`: a network in fewer bits, by a fixed scheme or as fast as a bound allows."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from numbers import Real
from os import PathLike

import logs
from relay_tune.arguments import function_argument, path_argument
from relay_tune.codegen.target import native_target
from relay_tune.ending_signals import ending_signals
from relay_tune.errors import InputError
from relay_tune.ir.module import Module
from relay_tune.ir.structural import structural_hash
from relay_tune.machine.pattern import BOUNDED_BYTES
from relay_tune.quantization.calibrated import Calibrated, Means, calibrate, quantizable_layers
from relay_tune.quantization.calibration_data import FEW_TO_DIVIDE, CalibrationData, Given
from relay_tune.quantization.loss import Loss, output_error
from relay_tune.quantization.options import SEARCHED, QuantizationOptions
from relay_tune.quantization.precisions import (
    BFLOAT16,
    FLOAT32,
    INT7,
    INT8,
    WEIGHT_BITS,
    Precisions,
    layers_in,
)
from relay_tune.quantization.prepared import prepared
from relay_tune.quantization.programs import input_types
from relay_tune.quantization.quantize import quantize as quantize_by_scheme
from relay_tune.quantization.quantize import tell_layers, tell_samples
from relay_tune.quantization.report import Compared, QuantizationReport, report_argument
from relay_tune.quantization.weight_only import JUDGED
from relay_tune.remembered import results_for_one_build
from relay_tune.runtime.describe import counted
from relay_tune.runtime.target_machine import machine_of
from relay_tune.runtime.threads import thread_count
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.kernel_readings import rounding_algorithms
from relay_tune.tuning.log_errors import log_errors
from relay_tune.tuning.options import TuningOptions
from relay_tune.tuning.precision.choice import PrecisionSpace
from relay_tune.tuning.precision.logged_trials import LoggedTrials, LogMemory, OwnMemory
from relay_tune.tuning.precision.native_trials import Builder, NativeTrials
from relay_tune.tuning.precision.neighbours import neighbours, shares
from relay_tune.tuning.precision.search import Found, PrecisionSearch, Problem
from relay_tune.tuning.precision.trials import Measured
from relay_tune.tuning.tuned_build import BuildSchedules, Coverage

DEFAULT_MINUTES = 3.0

Report = Callable[[str], None]
"""Called with one line of text as the work goes on."""


def quantize(
    module: Module,
    *,
    calibration: Given | None = None,
    scheme: str = INT8,
    method: str = "auto",
    activations: str = "auto",
    weight_bits: int = 8,
    max_loss: float | None = None,
    loss: Loss = output_error,
    threads: int | None = None,
    details: QuantizationReport | None = None,
    log: str | PathLike[str] | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    report: Report | None = None,
) -> Module:
    """A network in fewer bits; with `int8` its layers compute in integers, with QDQ pairs around.

    Args:
        module: a network of float32 with tensors as inputs and outputs.
        calibration: inputs as the network will see them: a dict of arrays, an iterable of such
            dicts (or of arrays for a network with one input), a .npz or .npy file, or a folder of
            these. Arrays with an axis more, or with a longer first axis, are several samples. Only
            "int8" and "auto" need them; of others they tell the loss.
        scheme: "int8": data and weights of one byte, sums in int32; "w8", "w4" and "bf16": weights
            in 8 or 4 bits, with a scale for 32 of them, or bfloat16, and sums in float32. "auto":
            each layer in float32, bfloat16, int8, or int8 with weights of 7 bits (where this
            machine multiplies these faster), as fast as possible with a loss of at most `max_loss`,
            found by building and timing choices on this machine.
        method: how ranges of data are chosen: "minmax", "percentile", "entropy" or "mse"; "auto"
            takes the one with the least loss.
        activations: "uint8" or "int8"; "auto" takes what this machine multiplies. With "w8" and
            "w4" data are float32, or with "int8" may be rounded to bytes in products of many rows,
            with a scale for 32 of them in a row, when the program runs; "auto" is float32.
        weight_bits: of "int8" weights: 8, or 7, which lose more and are multiplied in two thirds to
            three quarters of the time by processors with AVX2 and no VNNI. With "auto", 7 leaves no
            other integers.
        max_loss: with "int8" the layers that hurt most stay in float32 until the loss is no more
            than this; "auto" needs it.
        loss: loss(outputs of float32, outputs) of a sample; by default the root mean square error
            of the outputs as a part of their magnitude. With "auto", of samples that the ranges do
            not come from, where there are 8 or more.
        threads: of the programs that are run; by default all processors of this process.
        details: is told what was done.
        log: with "auto", a tuning log: it remembers what was measured, and its schedules are used;
            it is created if it does not exist. By default nothing is kept.
        minutes: with "auto", how long choices are tried, after the calibration; by default 3.
        seed: with "auto", of all random choices; by default 0.
        report: with "auto", is told what was found as the search goes on.

    The network is built for this machine and run on the samples several times. Ctrl-C ends a search
    with the best choice so far. Raises InputError for options that cannot be, for samples that do
    not fit, and where no layer can be quantized.
    """
    options = QuantizationOptions(scheme, method, activations, max_loss, loss, threads, weight_bits)
    if scheme != SEARCHED:
        _refuse_given(scheme, {"log": log, "minutes": minutes, "seed": seed, "report": report})
        return quantize_by_scheme(module, options, calibration, details)
    bound, wanted = _required(max_loss, calibration)
    seconds = 60.0 * _minutes(minutes)
    first = TuningOptions(seed=0 if seed is None else seed).seed
    tell = function_argument(_silent if report is None else report, "report")
    count = thread_count(threads)
    schedules = _schedules(log, count)
    network = prepared(module)
    means = searched_means(options)
    quantizable_layers(network, means.dtype)
    samples = CalibrationData(wanted, input_types(network))
    ranges, held_out = samples.held_out(JUDGED)
    told = report_argument(details)
    with ending_signals(), results_for_one_build():
        calibrated = calibrate(network, means, ranges, held_out)
        trials = NativeTrials(calibrated, Builder(native_target(), count, schedules))
        memory = _memory(log, calibrated, count, schedules)
        with nullcontext(memory) if isinstance(memory, OwnMemory) else closing(memory):
            alone = calibrated.alone()
            problem = _problem(calibrated, alone, bound)
            tell(_beginning(problem, seconds))
            logged = LoggedTrials(trials, memory)
            found = PrecisionSearch(problem, logged, seconds, first, tell).run()
    told.choices = {name: trials.module(each) for name, each in found.named.items()}
    _tell(told, calibrated, found, problem, samples)
    return told.steps["realize"]


def searched_means(options: QuantizationOptions) -> Means:
    """Settings to calibrate with, where layers may have any precision that is faster here."""
    means = options.means()
    offered = list(means.precisions)
    if INT8 in offered and means.dtype == BOUNDED_BYTES.left and multiplies_bounded_bytes():
        offered.append(INT7)
    if multiplies_bfloat16():
        offered.append(BFLOAT16)
    return replace(means, precisions=tuple(offered))


def multiplies_bounded_bytes() -> bool:
    """Whether this machine multiplies bytes faster where weights have 7 bits."""
    return BOUNDED_BYTES.name in machine_of(native_target()).dot_products


def multiplies_bfloat16() -> bool:
    """Whether this machine multiplies bfloat16 faster than float32."""
    return bool(rounding_algorithms(machine_of(native_target()), Accuracy.RELAXED))


def _required(max_loss: float | None, calibration: Given | None) -> tuple[float, Given]:
    """The bound on the loss and the samples; InputError where one is not given."""
    if max_loss is None:
        raise InputError(
            "There is no bound on the loss, which 'auto' needs.",
            remedy="Give max_loss as a part of the outputs' magnitude, for example 0.01.",
        )
    if calibration is None:
        raise InputError(
            "There are no calibration data, which 'auto' needs for the ranges of data.",
            remedy="Give inputs as the model will see them, a hundred or so.",
        )
    return max_loss, calibration


def _problem(calibrated: Calibrated, alone: Mapping[str, float], max_loss: float) -> Problem:
    free = [each for each in calibrated.layers if each.name in calibrated.free]
    space = PrecisionSpace.of_layers([each.name for each in free], calibrated.means.precisions)
    return Problem(space, neighbours(free), shares(free), alone, max_loss)


def _schedules(log: str | PathLike[str] | None, threads: int) -> BuildSchedules:
    """Those of a log, which is created if it does not exist."""
    path = None if log is None else path_argument(log, "log", "Omit it to use none.")
    if path is not None:
        with log_errors(), logs.open_log(path):
            pass
    return BuildSchedules.of(path, native_target(), threads, Accuracy.FAST, Coverage())


def _memory(
    log: str | PathLike[str] | None,
    calibrated: Calibrated,
    threads: int,
    schedules: BuildSchedules,
) -> OwnMemory | LogMemory:
    if log is None:
        return OwnMemory()
    title = f"precisions of {counted(len(calibrated.free), 'layer')}"
    workload = _workload(calibrated, schedules)
    return LogMemory(log, workload, title, native_target().key, threads)


def _workload(calibrated: Calibrated, schedules: BuildSchedules) -> str:
    """The key of all that times and losses depend on, beside the machine."""
    loss = calibrated.means.loss
    digest = hashlib.sha256(structural_hash(calibrated.network).encode())
    for name, each in sorted(calibrated.types.items()):
        digest.update(f"{name} {each.dtype} {each.scale!r} {each.zero!r}".encode())
    for sample in calibrated.judge.samples:
        for name, array in sorted(sample.items()):
            digest.update(name.encode() + array.tobytes())
    digest.update(f"{loss.__module__} {getattr(loss, '__qualname__', repr(type(loss)))}".encode())
    known = schedules.known
    digest.update(b"" if known is None else known.fingerprint.encode())
    return f"precisions-{digest.hexdigest()[:24]}"


def _beginning(problem: Problem, seconds: float) -> str:
    layers = counted(len(problem.space.options), "layer")
    *kinds, last = (FLOAT32, *problem.space.offered)
    limits = f"loss at most {problem.bound:g}; up to {seconds:.0f} s"
    return f"{layers} in {', '.join(kinds)} or {last}, {limits}"


def _tell(
    report: QuantizationReport,
    calibrated: Calibrated,
    found: Found,
    problem: Problem,
    samples: CalibrationData,
) -> None:
    """Fill in the report."""
    is_changed = any(each != FLOAT32 for each in found.best.values())
    network = calibrated.network
    report.steps = calibrated.steps(found.best) if is_changed else {"realize": network}
    stay = {**calibrated.stay, **_reasons(found, problem)}
    report.compared = _compared(found, problem)
    reference = report.compared[0].seconds if report.compared else None
    saved = {} if reference is None else {n: s * reference for n, s in found.saved.items()}
    tell_layers(report, calibrated, found.best, problem.alone, stay, saved)
    tell_samples(report, samples)
    if samples.count < FEW_TO_DIVIDE:
        report.notes.append("the loss is that of the samples that ranges come from")
    genome = problem.space.genome(found.best)
    report.loss = found.measured[genome].loss if is_changed else 0.0
    if found.interrupted:
        report.notes.append("the search was interrupted; this is the best choice so far")
    if not found.measured:
        report.notes.append("nothing was measured: all layers stay in float32")
    elif not is_changed:
        report.notes.append(_why_nothing(found, problem))


def _why_nothing(found: Found, problem: Problem) -> str:
    if any(each.loss <= problem.bound for each in found.measured.values()):
        return "no choice that was measured is faster than float32: all layers stay in float32"
    return (
        f"no choice that was tried has a loss of at most {problem.bound:g}: "
        "all layers stay in float32"
    )


def _reasons(found: Found, problem: Problem) -> dict[str, str]:
    """Why layers stay in float32 that need not."""
    reasons: dict[str, str] = {}
    for layer in layers_in(found.best, FLOAT32):
        if problem.alone[layer] > problem.bound:
            reasons[layer] = f"its loss alone is above {problem.bound:g}"
        elif found.saved.get(layer, 0.0) <= 0:
            reasons[layer] = "integers are not faster there"
        else:
            reasons[layer] = "others save more time for their loss"
    return reasons


def _compared(found: Found, problem: Problem) -> list[Compared]:
    if not found.measured:
        return []
    reference = list(found.measured.values())[-1].reference_seconds
    plain = Measured(1.0, reference, 0.0, reference)
    choices: dict[str, Precisions] = {FLOAT32: {}, **found.named, "searched": found.best}
    rows = []
    for name, precisions in choices.items():
        kinds = (tuple(WEIGHT_BITS), (INT7,), (BFLOAT16,))
        integers, small, narrow = (len(layers_in(precisions, *each)) for each in kinds)
        genome = problem.space.genome(precisions)
        each = found.measured.get(genome) if integers or narrow else plain
        if each is not None:
            counts = integers, small, narrow
            rows.append(Compared(name, *counts, each.seconds, each.ratio, each.loss))
    return rows


def _minutes(minutes: float | None) -> float:
    chosen = DEFAULT_MINUTES if minutes is None else minutes
    if not isinstance(chosen, Real) or isinstance(chosen, bool) or not 0 < chosen < math.inf:
        raise InputError(
            f"minutes is {minutes!r}, but must be a finite number above 0.",
            remedy=f"Omit it for {DEFAULT_MINUTES:.0f} minutes.",
        )
    return float(chosen)


def _refuse_given(scheme: str, given: Mapping[str, object]) -> None:
    wrong: Sequence[str] = [name for name, value in given.items() if value is not None]
    if wrong:
        raise InputError(
            f"{wrong[0]} is for the scheme 'auto': nothing is searched for {scheme!r}.",
            remedy="Omit it, or give scheme='auto' and max_loss.",
        )


def _silent(line: str) -> None:
    """Report nothing."""
