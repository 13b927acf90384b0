"""The verb `build`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from relay_tune.cli.model_file import load_argument
from relay_tune.cli.options import build_options
from relay_tune.cli.output_file import require_library
from relay_tune.codegen.export import check_library_target, header_of
from relay_tune.codegen.target import parse_target
from relay_tune.errors import BuildError
from relay_tune.runtime.describe import counted
from relay_tune.tuning.tuned_build import Coverage, build


def run(arguments: argparse.Namespace) -> int:
    """Build and export."""
    output = Path(arguments.output)
    require_library(output, arguments.model, arguments.log)
    check_library_target(parse_target(arguments.target).triple)
    coverage = Coverage()
    module = load_argument(arguments)
    model = build(
        module,
        log=arguments.log,
        coverage=coverage,
        **build_options(arguments),
        memory_limit=arguments.memory_limit,
    )
    if arguments.require_tuned and coverage.untuned:
        raise BuildError(
            f"The log has no schedule for {len(coverage.untuned)} of "
            f"{counted(coverage.total, 'kernel')}.",
            notes=tuple(sorted(coverage.untuned)),
            remedy="Run `tune run` with the same log, target and threads first.",
        )
    model.export(output)
    print(_text(arguments, output, coverage))
    return 0


def _text(arguments: argparse.Namespace, output: Path, coverage: Coverage) -> str:
    header = header_of(output)
    if arguments.json:
        found = {
            "kernels": coverage.total,
            "tuned": len(coverage.tuned),
            "skipped": dict(coverage.skipped),
        }
        return json.dumps({"library": str(output), "header": str(header), **found})
    return f"{output}, {header}: {coverage}"
