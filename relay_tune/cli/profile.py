"""Show where the time of a model goes, kernel by kernel."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from relay_tune.cli.model_file import load_model
from relay_tune.cli.options import add_json, add_log, add_machine, add_model, shapes_of
from relay_tune.errors import BuildError
from relay_tune.runtime.program_model import ProgramModel
from relay_tune.tuning.tuned_build import build
from relay_tune.zoo import example_inputs

EXAMPLE = "tune profile model.onnx --log tuning.db"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    add_model(parser)
    add_log(parser, "the tuning log to take schedules from")
    add_machine(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build, run on random inputs, and print one line for each kernel."""
    module = load_model(arguments.model, shapes_of(arguments))
    model = build(module, log=arguments.log, target=arguments.target, threads=arguments.threads)
    if isinstance(model, ProgramModel):
        raise BuildError(
            "Profiles are made of networks; this program has control flow or data types.",
            remedy="tune bench measures it as a whole.",
        )
    report = model.profile(*example_inputs(module).values())
    if not arguments.json:
        print(report)
        return 0
    rows = [{**asdict(row), "gflops": row.gflops} for row in report.rows]
    print(json.dumps({"seconds": report.seconds, "kernels": rows}, indent=2))
    return 0
