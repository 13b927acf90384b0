"""The verb `log`: one function for each action."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from logs import MergeReport, TuningLog, WorkloadSummary, check_exported
from relay_tune.cli.log_file import opened
from relay_tune.cli.output_file import require_writable
from relay_tune.cli.task_description import task_description
from relay_tune.cli.units import table_text, time_text
from relay_tune.runtime.describe import counted
from relay_tune.tuning.log_errors import log_errors


def run(arguments: argparse.Namespace) -> int:
    """Do the action."""
    return ACTIONS[arguments.action](arguments)


def _list(arguments: argparse.Namespace) -> int:
    with opened(arguments.log) as log:
        summaries = log.workloads()
        titles = [_title(log, each) for each in summaries]
    if arguments.json:
        named = zip(titles, summaries, strict=True)
        print(json.dumps([{"title": title, **asdict(each)} for title, each in named], indent=2))
        return 0
    rows = [("task", "target", "threads", "code", "measured", "correct", "best")]
    for title, each in zip(titles, summaries, strict=True):
        counts = (str(each.threads), each.code_version, str(each.records), str(each.ok))
        rows.append((title, each.target, *counts, time_text(each.best_seconds)))
    print(table_text(rows))
    return 0


def _best(arguments: argparse.Namespace) -> int:
    with opened(arguments.log) as log:
        rows = [_best_row(log, each) for each in log.workloads() if each.best_seconds is not None]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        of = counted(int(str(row["threads"])), "thread")
        print(f"{row['title']}  {row['target']}  {of}  {row['time']}")
        print(f"  {row['schedule']}")
    return 0


def _best_row(log: TuningLog, summary: WorkloadSummary) -> dict[str, object]:
    key = (summary.workload, summary.target, summary.threads, summary.code_version)
    record = log.best(*key)
    return {
        "workload": summary.workload,
        "title": _title(log, summary),
        "target": summary.target,
        "threads": summary.threads,
        "code_version": summary.code_version,
        "seconds": summary.best_seconds,
        "time": time_text(summary.best_seconds),
        "schedule": "" if record is None else record.schedule,
    }


def _title(log: TuningLog, summary: WorkloadSummary) -> str:
    return task_description(log.task(summary.workload), summary.workload).title


def _merge(arguments: argparse.Namespace) -> int:
    for other in arguments.others:  # before a new log is created
        with opened(other):
            pass
    with opened(arguments.log, readonly=False, create=True) as log:
        for other in arguments.others:
            print(f"{other}: {_joined_text(log.merge(other))}")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    require_writable(Path(arguments.file), arguments.log)
    with opened(arguments.log) as log:
        log.export_json(arguments.file)
        count = sum(summary.records for summary in log.workloads())
    print(f"{arguments.file}: {counted(count, 'record')}")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    with log_errors():  # before a new log is created
        check_exported(Path(arguments.file))
    with opened(arguments.log, readonly=False, create=True) as log:
        print(f"{arguments.file}: {_joined_text(log.import_json(arguments.file))}")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    with opened(arguments.log) as log:
        report = log.check()
        claims = log.stale_claims()
    if arguments.json:
        died = [claim.key.workload for claim in claims if claim.running]
        print(json.dumps({"ok": report.ok, **asdict(report), "died": died}, indent=2))
        return 0 if report.ok else 1
    sound = counted(report.records, "sound record")
    print(f"{report.path}: {sound}, schema {report.schema_version}")
    for fault in (*report.faults, *report.damaged):
        print(f"  damaged: {fault}")
    for line in report.implausible:
        print(f"  not believed: {line}")
    for claim in claims:
        if claim.running:
            print(f"  the process that measured this died: {claim.key.workload}")
    return 0 if report.ok else 1


def _joined_text(report: MergeReport) -> str:
    text = f"{report.added} added, {report.replaced} replaced, {report.kept} kept"
    skipped = "; ".join(f"{count} skipped: {why}" for why, count in report.skipped.items())
    return f"{text}; {skipped}" if skipped else text


ACTIONS = {
    "list": _list,
    "best": _best,
    "merge": _merge,
    "export": _export,
    "import": _import,
    "check": _check,
}
