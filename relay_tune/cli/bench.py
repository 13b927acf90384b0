"""The verb `bench`: variants of a model in turns on the same random inputs.

Variants are builds, libraries that were built before, and other runtimes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from relay_tune.cli.difference import largest_difference
from relay_tune.cli.model_file import constant_inputs, load_argument
from relay_tune.cli.options import build_options
from relay_tune.cli.peers.catalogue import PEERS
from relay_tune.cli.representative_inputs import RepresentativeInputs, representative_inputs
from relay_tune.cli.units import table_text, time_text
from relay_tune.errors import InputError, UnsupportedOperatorError
from relay_tune.frontend.onnx_export.to_onnx import to_onnx
from relay_tune.ir.module import Module
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.load import load
from relay_tune.runtime.threads import thread_count
from relay_tune.tuning.tuned_build import build
from relay_tune.tuning.turns import Turns, median_interval, time_in_turns

Call = Callable[[], object]
"""Runs a model once; gives its outputs."""

Variant = Callable[[Mapping[str, Any]], Call]
"""The call of a model with these inputs."""


@dataclass(frozen=True, slots=True)
class Line:
    """The result of one variant.

    Attributes:
        variant: its name.
        median_seconds: of all calls.
        minimum_seconds: the shortest call.
        maximum_seconds: the longest call.
        ratio: the time of the first variant by that of this one: the median over the turns.
        interval: the ratio lies in it with a probability of at least 0.9; None for few turns.
        difference: the largest one to the first other runtime, by its largest number; None for
            that runtime, and where there is none.
    """

    variant: str
    median_seconds: float
    minimum_seconds: float
    maximum_seconds: float
    ratio: float
    interval: tuple[float, float] | None
    difference: float | None


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each variant; of dynamic sizes, for each that --shape names."""
    module = load_argument(arguments)
    inputs = representative_inputs(module, arguments)
    measured: list[tuple[RepresentativeInputs, list[Line]]] = []
    with _variants(arguments, module) as variants:
        for each in inputs:
            calls = {name: variant(each.values) for name, variant in variants.items()}
            turns = time_in_turns(calls, arguments.repeat)
            measured.append((each, results(turns, _differences(calls))))
            if not arguments.json:
                print(_text(measured[-1][1], each.title, _reference(variants)))
    if arguments.json:
        print(json.dumps(_data(measured), indent=2))
    return 0


def _text(lines: Sequence[Line], title: str, reference: str | None) -> str:
    table = table_text(_table(lines, reference))
    return f"{title}\n{table}" if title else table


def _data(measured: Sequence[tuple[RepresentativeInputs, list[Line]]]) -> list[dict[str, object]]:
    """The lines; of dynamic sizes with the shapes of the inputs."""
    return [
        {**({"shapes": inputs.shapes} if inputs.shapes else {}), **asdict(line)}
        for inputs, lines in measured
        for line in lines
    ]


def results(turns: Turns, differences: Mapping[str, float]) -> list[Line]:
    """One line for each variant, compared with the first."""
    medians = {name: [median(turn) for turn in own] for name, own in turns.items()}
    base = next(iter(medians.values()))
    lines = []
    for name, own in turns.items():
        ratios = [first / this for first, this in zip(base, medians[name], strict=True)]
        times = [seconds for turn in own for seconds in turn]
        lines.append(
            Line(
                name,
                median(times),
                min(times),
                max(times),
                median(ratios),
                None if own is next(iter(turns.values())) else median_interval(ratios),
                differences.get(name),
            )
        )
    return lines


def _table(lines: Sequence[Line], reference: str | None) -> list[tuple[str, ...]]:
    """The rows of the table, the head first."""
    head = ("variant", "median", "min", "max", f"against {lines[0].variant}")
    about = () if reference is None else (f"difference to {reference}",)
    rows: list[tuple[str, ...]] = [(*head, *about)]
    for line in lines:
        seconds = (line.median_seconds, line.minimum_seconds, line.maximum_seconds)
        ratio = f"{line.ratio:.2f}x"
        if line.interval is not None:
            ratio += f" ({line.interval[0]:.2f} to {line.interval[1]:.2f})"
        apart = "-" if line.difference is None else f"{line.difference:.1e}"
        rows.append((line.variant, *map(time_text, seconds), ratio, *([apart] if about else [])))
    return rows


@contextmanager
def _variants(arguments: argparse.Namespace, module: Module) -> Iterator[dict[str, Variant]]:
    """The timed runtimes by name."""
    threads = thread_count(arguments.threads)
    built = partial(
        build,
        module,
        **build_options(arguments),
    )
    variants: dict[str, Variant] = {"untuned": partial(partial, built().run)}
    if arguments.log is not None:
        variants["tuned"] = partial(partial, built(log=arguments.log).run)
    for path in dict.fromkeys(arguments.library):
        variants[path] = _library(path, arguments.threads)
    constants = constant_inputs(arguments)
    with _onnx_file(arguments, module) as path:
        for name in dict.fromkeys(arguments.against):
            variants[name] = _peer(name, path, constants, threads)
        yield variants


def _library(path: str, threads: int | None) -> Variant:
    """A library of the model, with its own number of threads where `threads` is None.

    Raises InputError if the file is no library for this machine, the variant if it is one of a
    model with other inputs.
    """
    library = load(path)
    if threads is not None:
        library.threads = threads

    def variant(inputs: Mapping[str, Any]) -> Call:
        if set(inputs) != set(library.inputs):
            raise InputError(
                f"{path} is a library of another model.",
                notes=(
                    f"Its inputs are: {', '.join(library.inputs)}.",
                    f"Those of the model are: {', '.join(inputs)}.",
                ),
                remedy="Give a library that was built from this model.",
            )
        return partial(library.run, inputs)

    return variant


def _peer(name: str, path: Path, constants: Mapping[str, Any], threads: int) -> Variant:
    """Another runtime on the model of a file."""

    def variant(inputs: Mapping[str, Any]) -> Call:
        return PEERS[name].checked(path, {**inputs, **constants}, threads)

    return variant


@contextmanager
def _onnx_file(arguments: argparse.Namespace, module: Module) -> Iterator[Path]:
    """The model as a file for other runtimes: an .onnx file as it is, any other is exported."""
    given = Path(arguments.model)
    if given.suffix.lower() == ".onnx" or not arguments.against:
        yield given
        return
    with TemporaryDirectory(prefix="relay_tune_bench_") as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(_exported(module, arguments))
        yield path


def _exported(module: Module, arguments: argparse.Namespace) -> bytes:
    """The model as an ONNX file; InputError where it has no such form."""
    try:
        content: bytes = to_onnx(module).SerializeToString()
    except UnsupportedOperatorError as error:
        raise InputError(
            f"{' and '.join(arguments.against)} cannot run {arguments.model}: it has parts that "
            "cannot be written as ONNX.",
            notes=error.notes,
            remedy="Omit --against to compare untuned and tuned builds alone.",
        ) from error
    return content


def _reference(variants: Iterable[str]) -> str | None:
    """The first other runtime."""
    return next((name for name in variants if name in PEERS), None)


def _differences(variants: Mapping[str, Call]) -> dict[str, float]:
    """For each variant how far its outputs are from those of the first other runtime."""
    reference = _reference(variants)
    if reference is None:
        return {}
    expected = _arrays(variants[reference]())
    return {
        name: largest_difference(_arrays(call()), expected)
        for name, call in variants.items()
        if name != reference
    }


def _arrays(outputs: object) -> list[np.ndarray]:
    """Copies of the outputs: a runtime may use their memory again."""
    parts = outputs if isinstance(outputs, list | tuple) else [outputs]
    return [np.array(part) for part in parts]
