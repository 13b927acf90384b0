"""Build a model as a shared library with a C header, with the best schedules that a log knows."""

from __future__ import annotations

import argparse

from relay_tune.cli.options import (
    add_accuracy,
    add_json,
    add_log,
    add_machine,
    add_memory_limit,
    add_model,
    add_passes,
)

EXAMPLE = "tune build model.onnx -o model.so --log tuning.db"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="the library; its header is beside it"
    )
    add_log(parser, "the tuning log to take schedules from")
    parser.add_argument(
        "--require-tuned", action="store_true", help="fail if a kernel is not in the log"
    )
    add_machine(parser)
    add_accuracy(parser)
    add_passes(parser)
    add_memory_limit(parser)
    add_json(parser)
