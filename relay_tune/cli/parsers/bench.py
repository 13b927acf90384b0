"""Time a model: untuned, tuned, libraries of it, and other runtimes, in turns on random inputs."""

from __future__ import annotations

import argparse

from relay_tune.cli.choices import PEER_NAMES
from relay_tune.cli.options import (
    add_accuracy,
    add_json,
    add_log,
    add_machine,
    add_model,
    add_passes,
    positive,
)

EXAMPLE = "tune bench model.onnx --log tuning.db --against onnxruntime"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    add_log(parser, "the tuning log; without it only the untuned model is timed")
    parser.add_argument(
        "--library",
        action="append",
        default=[],
        metavar="FILE",
        help="time a library of the model, too, as it was built; may be repeated",
    )
    parser.add_argument(
        "--against",
        choices=PEER_NAMES,
        action="append",
        default=[],
        help="time another runtime too (an extra package); may be repeated",
    )
    parser.add_argument(
        "--repeat",
        type=positive,
        default=5,
        metavar="N",
        help="turns of each variant; an interval needs 5 (default: 5)",
    )
    add_machine(parser)
    add_accuracy(parser)
    add_passes(parser)
    add_json(parser)
