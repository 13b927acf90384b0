"""Show where the time of a model goes, kernel by kernel, and how near each is to its limit."""

from __future__ import annotations

import argparse

from relay_tune.cli.options import (
    add_accuracy,
    add_json,
    add_log,
    add_machine,
    add_model,
    add_passes,
)

EXAMPLE = "tune profile model.onnx --log tuning.db"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    add_log(parser, "the tuning log to take schedules from")
    add_machine(parser)
    add_accuracy(parser)
    add_passes(parser)
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="also write a timeline of some runs, a row for each thread, for trace viewers such "
        "as Perfetto",
    )
    add_json(parser)
