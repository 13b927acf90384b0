"""Tune a model on this machine, then build it as a shared library with a C header.

What is measured goes into the log at once: stop it at any time (Ctrl-C) and start it again. The
library is built in any case, also where the time is over before.
"""

from __future__ import annotations

import argparse

from relay_tune.cli.options import (
    add_accuracy,
    add_json,
    add_machine,
    add_model,
    add_passes,
    positive,
    positive_real,
    seed,
)

EXAMPLE = "tune run model.onnx -o model.so --minutes 5"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the library (default: the model's name with .so)"
    )
    parser.add_argument(
        "--log",
        metavar="FILE",
        default="tuning.db",
        help="the tuning log, created where there is none (default: tuning.db)",
    )
    parser.add_argument(
        "--trials",
        type=positive,
        metavar="N",
        help="stop after N candidates, those in the log included (default: no limit but the time)",
    )
    parser.add_argument(
        "--minutes",
        type=positive_real,
        metavar="M",
        help="tune for M minutes (default: 3)",
    )
    parser.add_argument(
        "--seed", type=seed, default=0, metavar="S", help="of the search (default: 0)"
    )
    add_machine(parser)
    add_accuracy(parser)
    add_passes(parser)
    add_json(parser)
