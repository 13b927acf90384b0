"""Write one HTML page about a tuning log: tasks, best times, and how they were found."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from logs import Record, TuningLog
from relay_tune.cli.log_file import opened
from relay_tune.cli.output_file import require_writable, write_text
from relay_tune.cli.report_page import TaskReport, page
from relay_tune.cli.task_description import task_description
from relay_tune.runtime.machine_limits import MachineLimits

EXAMPLE = "tune report tuning.db -o tuning.html"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    parser.add_argument("log", metavar="LOG", help="the tuning log")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the page (default: the log's name with .html)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the page."""
    default = Path(arguments.log).with_suffix(".html").name
    output = Path(arguments.output or default)
    require_writable(output, arguments.log)
    with opened(arguments.log) as log:
        text = page(Path(arguments.log).name, task_reports(log))
    write_text(output, text)
    print(output)
    return 0


def task_reports(log: TuningLog) -> list[TaskReport]:
    """One report for each task, the one with the slowest best schedule first."""
    groups: dict[tuple[str, str, int, str], list[Record]] = {}
    for record in log.history():
        key = (record.workload, record.target, record.threads, record.code_version)
        groups.setdefault(key, []).append(record)
    reports = [_task_report(log, *key, records) for key, records in groups.items()]
    return sorted(reports, key=lambda report: -(report.best or 0.0))


def _task_report(
    log: TuningLog,
    workload: str,
    target: str,
    threads: int,
    version: str,
    records: Sequence[Record],
) -> TaskReport:
    described = task_description(log.task(workload), workload)
    limits = MachineLimits.from_entries(log.limits(target), threads)
    return TaskReport(
        title=described.title,
        target=target,
        threads=threads,
        code_version=version,
        operations=described.operations,
        bytes=described.bytes,
        bound=None if limits is None else described.bound(limits),
        failures=_failures(records),
        seconds=tuple(record.seconds if record.status == "ok" else None for record in records),
    )


def _failures(records: Iterable[Record]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in records:
        if record.status != "ok":
            counts[record.status] = counts.get(record.status, 0) + 1
    return counts
