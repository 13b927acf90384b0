"""Time a model: untuned, tuned, and in another runtime, in turns on the same random inputs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from relay_tune.cli.bench_onnxruntime import onnxruntime_call
from relay_tune.cli.model_file import constant_inputs, load_argument
from relay_tune.cli.options import (
    add_accuracy,
    add_json,
    add_log,
    add_machine,
    add_model,
    positive,
)
from relay_tune.cli.turns import Turns, time_in_turns
from relay_tune.cli.units import table_text, time_text
from relay_tune.runtime.threads import thread_count
from relay_tune.tuning.tuned_build import build
from relay_tune.zoo import example_inputs

EXAMPLE = "tune bench model.onnx --log tuning.db --against onnxruntime"

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Line:
    """The result of one variant; `ratio` is the median of the first one by that of this one."""

    variant: str
    median: float
    minimum: float
    maximum: float
    ratio: float


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    add_log(parser, "the tuning log; without it only the untuned model is timed")
    parser.add_argument(
        "--against", choices=["onnxruntime"], help="time another runtime too (an extra package)"
    )
    parser.add_argument(
        "--repeat", type=positive, default=5, metavar="N", help="turns of each variant (default: 5)"
    )
    add_machine(parser)
    add_accuracy(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each variant."""
    turns = time_in_turns(_variants(arguments), arguments.repeat)
    lines = results(turns)
    if arguments.json:
        print(json.dumps([_fields(line) for line in lines], indent=2))
        return 0
    rows: list[tuple[str, ...]] = [
        ("variant", "median", "min", "max", f"against {lines[0].variant}")
    ]
    for line in lines:
        times = tuple(time_text(each) for each in (line.median, line.minimum, line.maximum))
        rows.append((line.variant, *times, f"{line.ratio:.2f}x"))
    print(table_text(rows))
    return 0


def results(turns: Turns) -> list[Line]:
    """One line for each variant, compared with the first."""
    medians = {name: sorted(times)[len(times) // 2] for name, times in turns.items()}
    base = next(iter(medians.values()))
    return [
        Line(name, medians[name], min(times), max(times), base / medians[name])
        for name, times in turns.items()
    ]


def _variants(arguments: argparse.Namespace) -> dict[str, Call]:
    """What is timed, by name."""
    module = load_argument(arguments)
    inputs = example_inputs(module)
    threads = thread_count(arguments.threads)
    built = partial(
        build, module, target=arguments.target, threads=threads, accuracy=arguments.accuracy
    )
    variants: dict[str, Call] = {"untuned": partial(built().run, inputs)}
    if arguments.log is not None:
        tuned = built(log=arguments.log)
        variants["tuned"] = partial(tuned.run, inputs)
    if arguments.against == "onnxruntime":
        variants["onnxruntime"] = onnxruntime_call(
            arguments.model, module, {**inputs, **constant_inputs(arguments)}, threads
        )
    return variants


def _fields(line: Line) -> dict[str, object]:
    return {
        "variant": line.variant,
        "median_seconds": line.median,
        "minimum_seconds": line.minimum,
        "maximum_seconds": line.maximum,
        "ratio": line.ratio,
    }
