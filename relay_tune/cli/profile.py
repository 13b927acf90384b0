"""The verb `profile`: one line for each kernel, and a timeline."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from relay_tune.cli.model_file import load_argument
from relay_tune.cli.options import build_options
from relay_tune.cli.output_file import require_writable, write_text
from relay_tune.cli.representative_inputs import RepresentativeInputs, representative_inputs
from relay_tune.codegen.target import parse_target
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.profile import ProfileReport, ProfileRow
from relay_tune.runtime.threads import thread_count
from relay_tune.tuning.logged_limits import logged_limits
from relay_tune.tuning.tuned_build import build


def run(arguments: argparse.Namespace) -> int:
    """Build, run on random inputs, and print one line for each kernel."""
    if arguments.trace is not None:
        require_writable(Path(arguments.trace), arguments.model, arguments.log)
    module = load_argument(arguments)
    model = build(
        module,
        log=arguments.log,
        **build_options(arguments),
    )
    given = representative_inputs(module, arguments)
    limits = _limits(arguments)
    reports = [(each, model.profile(*each.values.values(), limits=limits)) for each in given]
    if arguments.trace is not None:
        trace = model.trace(*given[-1].values.values())
        write_text(Path(arguments.trace), json.dumps(trace.to_json()))
    if arguments.json:
        found = [_data(each, report, arguments.trace) for each, report in reports]
        print(json.dumps(found[0] if len(found) == 1 else found, indent=2))
        return 0
    for each, report in reports:
        print(*filter(None, (each.title, str(report))), sep="\n")
    if arguments.trace is not None:
        print(f"timeline: {arguments.trace}")
    return 0


def _data(
    inputs: RepresentativeInputs, report: ProfileReport, trace: str | None
) -> dict[str, object]:
    rows = [_fields(row) for row in report.rows]
    limits = report.limits.entries()
    return {
        **({"shapes": inputs.shapes} if inputs.shapes else {}),
        "seconds": report.seconds,
        "whole_seconds": report.whole,
        "limits": limits,
        "trace": trace,
        "kernels": rows,
    }


def _limits(arguments: argparse.Namespace) -> MachineLimits | None:
    """The machine's limits that the log keeps, if there is a log and it tells them."""
    if arguments.log is None:
        return None
    target = parse_target(arguments.target)
    return logged_limits(arguments.log, target, thread_count(arguments.threads))


def _fields(row: ProfileRow) -> dict[str, object]:
    return {
        "title": row.title,
        "nodes": list(row.nodes),
        "digest": row.digest,
        "seconds": row.seconds,
        "calls": row.calls,
        "share": row.share,
        "operations": row.work.written,
        "own_operations": row.work.own,
        "algorithm": row.work.algorithm,
        "instruction": row.work.instruction,
        "bytes": row.work.bytes,
        "gflops": row.gflops,
        "gigabytes_per_second": row.gigabytes_per_second,
        "bound_by": row.bound.name,
        "limit_seconds": row.bound.seconds,
        "limit_share": row.limit_share,
    }
