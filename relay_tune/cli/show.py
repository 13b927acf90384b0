"""Print a model: as Relay text, after a pass of the pipeline, or the kernels that it becomes."""

from __future__ import annotations

import argparse

from relay_tune.cli.model_file import load_argument
from relay_tune.cli.options import add_machine, add_model
from relay_tune.cli.show_kernels import STEPS, kernels_text
from relay_tune.codegen.target import parse_target
from relay_tune.ir.module import Module
from relay_tune.runtime.threads import thread_count
from relay_tune.transform.pipeline import pipeline_after
from relay_tune.typing.infer import infer_types

EXAMPLE = "tune show zoo:mlp --after fuse --types"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    parser.add_argument(
        "--after",
        metavar="PASS",
        help="run the passes up to this one; 'fuse' is the last. Or a pass of the language",
    )
    parser.add_argument(
        "--kernels", choices=STEPS, help="the kernels after fusion, at this step, untuned"
    )
    parser.add_argument("--types", action="store_true", help="the type of each expression")
    parser.add_argument(
        "--weights",
        action="store_true",
        help="also the values of large constants, without which the text cannot be read back",
    )
    add_machine(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the text."""
    module = load_argument(arguments)
    if arguments.kernels is not None:
        machine = parse_target(arguments.target), thread_count(arguments.threads)
        for text in kernels_text(module, arguments.kernels, *machine):
            print(text)
        return 0
    _print_relay(module, arguments)
    return 0


def _print_relay(module: Module, arguments: argparse.Namespace) -> None:
    if arguments.after is not None:
        module = pipeline_after(arguments.after)(module)
    elif arguments.types:
        module = infer_types(module)
    text = module.astext(arguments.types, arguments.weights)
    print(text, end="" if text.endswith("\n") else "\n")
