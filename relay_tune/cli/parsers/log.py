"""List, join, export, import and examine tuning logs."""

from __future__ import annotations

import argparse

from relay_tune.cli.choices import LOG_ACTIONS
from relay_tune.cli.options import add_json

EXAMPLE = "tune log list tuning.db"


def configure(parser: argparse.ArgumentParser) -> None:
    """The actions of the verb and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (summary, example) in LOG_ACTIONS.items():
        each = actions.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"example: tune log {name} {example}",
        )
        each.add_argument("log", metavar="LOG", help="the tuning log")
        if name == "merge":
            each.add_argument("others", metavar="OTHER", nargs="+", help="logs to take over")
        elif name in ("export", "import"):
            each.add_argument("file", metavar="FILE", help="a file of JSON lines")
        if name in ("list", "best", "check"):
            add_json(each)
