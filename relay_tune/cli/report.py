"""The verb `report`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from relay_tune.cli.log_file import opened
from relay_tune.cli.output_file import require_writable, write_text
from relay_tune.cli.page.network import NetworkReport
from relay_tune.cli.page.read_log import network_reports
from relay_tune.cli.page.report_fields import network_fields
from relay_tune.errors import InputError


def run(arguments: argparse.Namespace) -> int:
    """Write the page."""
    default = Path(arguments.log).with_suffix(".html").name
    output = Path(arguments.output or default)
    draw = _page()
    require_writable(output, arguments.log)
    with opened(arguments.log) as log:
        reports = network_reports(log)
    write_text(output, draw(Path(arguments.log).name, reports))
    if arguments.json:
        networks = [network_fields(report) for report in reports]
        print(json.dumps({"page": str(output), "networks": networks}, indent=2))
    else:
        print(output)
    return 0


def _page() -> Callable[[str, Sequence[NetworkReport]], str]:
    """Import the page's renderer; InputError where libraries of the extra `report` are missing."""
    try:
        found: Callable[[str, Sequence[NetworkReport]], str]
        found = import_module("relay_tune.cli.page.render").page
    except ModuleNotFoundError as error:
        raise InputError(
            f"A report needs the library {error.name}, which is not installed.",
            remedy="Install the extra: pip install 'relay-tune[report]', "
            "or pip install jinja2 matplotlib.",
        ) from error
    return found
