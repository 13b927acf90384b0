"""Fit the coefficients of the estimate, which chooses schedules of what was never tuned, to the
times in a tuning log. Builds and runs with this log use them, if they choose better."""

from __future__ import annotations

import argparse

from relay_tune.cli.options import add_json, add_target

EXAMPLE = "tune fit tuning.db"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    parser.add_argument("log", metavar="LOG", help="the tuning log")
    add_target(parser)
    add_json(parser)
