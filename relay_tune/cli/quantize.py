"""The verb `quantize`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from relay_tune.arguments import unwritable
from relay_tune.cli.model_file import load_argument
from relay_tune.cli.output_file import require_writable, write_text
from relay_tune.cli.units import time_text
from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError
from relay_tune.frontend.onnx_export.to_onnx import to_onnx
from relay_tune.ir.module import Module
from relay_tune.new_files import new_files
from relay_tune.quantization.calibration_data import CalibrationData
from relay_tune.quantization.options import SEARCHED
from relay_tune.quantization.precisions import INT8, WEIGHT_BITS
from relay_tune.quantization.programs import input_types
from relay_tune.quantization.report import QuantizationReport
from relay_tune.runtime.run_clock import run_clock
from relay_tune.runtime.threads import thread_count
from relay_tune.tuning.precision.quantize import multiplies_bounded_bytes, quantize
from relay_tune.tuning.tuned_build import build
from relay_tune.tuning.turns import time_in_turns
from relay_tune.typing.infer import infer_types
from relay_tune.zoo import example_inputs

ENDINGS = (".onnx", ".relay")

CALIBRATED = (INT8, SEARCHED)
"""Schemes that need samples."""

SEARCH_OPTIONS = ("log", "minutes", "seed")

TURNS = 5
"""In which both models are timed."""


def run(arguments: argparse.Namespace) -> int:
    """Quantize, print the report, write the result."""
    if arguments.output is None and arguments.after is None:
        arguments.refuse("give -o FILE for the result, or --after to print a step")
    output = None if arguments.output is None else Path(arguments.output)
    if output is not None:
        _require_kind(output)
        require_writable(output, arguments.model, arguments.data, arguments.log)
    if arguments.data is None and arguments.scheme in CALIBRATED:
        arguments.refuse(
            f"the following arguments are required: --data ({arguments.scheme} needs it)"
        )
    if arguments.scheme == SEARCHED and arguments.max_loss is None:
        arguments.refuse("the following arguments are required: --max-loss (auto needs it)")
    _refuse_options_of_other_schemes(arguments)
    module = load_argument(arguments)
    report = QuantizationReport()
    result = quantize(
        module,
        calibration=arguments.data,
        scheme=arguments.scheme,
        method=arguments.method,
        activations=arguments.activations,
        weight_bits=arguments.weight_bits,
        max_loss=arguments.max_loss,
        threads=arguments.threads,
        details=report,
        log=arguments.log,
        minutes=arguments.minutes,
        seed=arguments.seed,
        report=_print_progress if arguments.scheme == SEARCHED else None,
    )
    if arguments.after is not None:
        if arguments.after not in report.steps:
            arguments.refuse(f"{arguments.scheme} has no step {arguments.after}")
        print(report.steps[arguments.after].astext(show_weights=False))
    if output is not None:
        _write(result, output)
        is_timed = not arguments.no_time and not report.compared
        times = _times(module, result, arguments) if is_timed else None
        print(_text(arguments, report, times))
    return 0


def _refuse_options_of_other_schemes(arguments: argparse.Namespace) -> None:
    scheme = arguments.scheme
    searching = [each for each in SEARCH_OPTIONS if getattr(arguments, each) is not None]
    if searching and scheme != SEARCHED:
        arguments.refuse(f"--{searching[0]} is for --scheme auto: {scheme} has no search")
    if scheme in CALIBRATED:
        return
    if arguments.max_loss is not None:
        arguments.refuse(f"--max-loss is for --scheme int8 and auto: {scheme} chooses no layers")
    if arguments.weight_bits != WEIGHT_BITS[INT8]:
        arguments.refuse(
            f"--weight-bits is for --scheme int8 and auto: {scheme} fixes how weights are stored"
        )


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _require_kind(output: Path) -> None:
    if output.suffix.lower() not in ENDINGS:
        raise InputError(
            f"{output} cannot be written: there is no such kind of model.",
            remedy="Name a .onnx or a .relay file.",
        )


def _write(module: Module, output: Path) -> None:
    if output.suffix.lower() == ".relay":
        write_text(output, module.astext(show_weights=True) + "\n")
        return
    content = to_onnx(module).SerializeToString()
    require_writable(output)
    try:
        with new_files(output) as (file,):
            file.write(content)
    except OSError as error:
        raise unwritable(output, error) from error


def _times(before: Module, after: Module, arguments: argparse.Namespace) -> tuple[float, float]:
    """The medians of calls of both models on this machine, in seconds."""
    typed = infer_types(before)
    if arguments.data is None:
        sample = dict(example_inputs(before))
    else:
        (sample,) = CalibrationData(arguments.data, input_types(typed)).spread(1)
    models = {
        name: build(module, threads=arguments.threads)
        for name, module in (("before", before), ("after", after))
    }
    calls = {name: (lambda model=model: model.run(sample)) for name, model in models.items()}
    clock = run_clock(thread_count(arguments.threads)).seconds
    times = time_in_turns(calls, TURNS, clock=clock)
    first, second = (median(sum(times[name], [])) for name in ("before", "after"))
    return first, second


def _text(
    arguments: argparse.Namespace, report: QuantizationReport, times: tuple[float, float] | None
) -> str:
    if arguments.json:
        seconds = None if times is None else {"before": times[0], "after": times[1]}
        return json.dumps({"model": arguments.output, **report.to_json(), "seconds": seconds})
    lines = [str(report)]
    if times is not None:
        lines.append(f"{time_text(times[0])} -> {time_text(times[1])} a call, untuned")
        lines.extend(f"note: {each}" for each in _of_this_machine(arguments))
    return "\n".join([*lines, arguments.output])


def _of_this_machine(arguments: argparse.Namespace) -> Iterator[str]:
    """What the user of this machine should know of products of integers."""
    if not native_target().machine.multiplies_words:
        yield "this machine has no products of narrow integers and computes in float32"
    has_eight = arguments.scheme == INT8 and arguments.weight_bits == WEIGHT_BITS[INT8]
    if has_eight and multiplies_bounded_bytes():
        yield "this machine multiplies weights of 7 bits faster, which lose more: --weight-bits 7"
