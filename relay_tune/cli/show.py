"""The verb `show`."""

from __future__ import annotations

import argparse

from relay_tune.building.chosen_passes import ChosenPasses, verifying
from relay_tune.cli.model_file import load_argument
from relay_tune.cli.native_form import require_fixed_kernels
from relay_tune.cli.show_kernels import kernels_text
from relay_tune.codegen.target import parse_target
from relay_tune.ir.module import Module
from relay_tune.runtime.threads import thread_count
from relay_tune.transform.pipeline import Pipeline, PipelineOptions
from relay_tune.transform.pipeline_text import DEFAULT, parse_pipeline, pipeline_after
from relay_tune.typing.infer import infer_types


def run(arguments: argparse.Namespace) -> int:
    """Print the text."""
    module = load_argument(arguments)
    if arguments.kernels is not None:
        require_fixed_kernels(module, "Kernels are shown")
        machine = parse_target(arguments.target), thread_count(arguments.threads)
        passes = ChosenPasses(arguments.passes, arguments.verify)
        for text in kernels_text(module, arguments.kernels, *machine, passes):
            print(text)
        return 0
    _print_relay(module, arguments)
    return 0


def _print_relay(module: Module, arguments: argparse.Namespace) -> None:
    if any(each is not None for each in (arguments.after, arguments.passes, arguments.verify)):
        module = _passes(arguments)(infer_types(module))
    elif arguments.types:
        module = infer_types(module)
    text = module.astext(arguments.types, arguments.weights)
    print(text, end="" if text.endswith("\n") else "\n")


def _passes(arguments: argparse.Namespace) -> Pipeline:
    """The passes whose result is shown."""
    options = PipelineOptions(machine=parse_target(arguments.target).machine)
    whole = parse_pipeline(arguments.passes or DEFAULT, options)
    if arguments.after is not None:
        whole = pipeline_after(arguments.after, options, whole)
    return verifying(whole.typed(), arguments.verify)
