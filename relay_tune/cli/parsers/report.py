"""Write one HTML page about a tuning log: tasks, best times, and how they were found."""

from __future__ import annotations

import argparse

from relay_tune.cli.options import add_json

EXAMPLE = "tune report tuning.db -o tuning.html"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    parser.add_argument("log", metavar="LOG", help="the tuning log")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the page (default: the log's name with .html)"
    )
    add_json(parser)
