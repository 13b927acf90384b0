"""Whether what torch exports gives what onnxruntime gives: small modules, both exporters.

    python -m benchmarks.torch_exports [--match REGEX] [--exporter both|dynamo|script]

A module counts only if onnxruntime runs its export. The exit code is 1 if one is refused or differs
by more than 1e-4 from onnxruntime.
"""

from __future__ import annotations

import argparse
import io
import logging
import re
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import onnxruntime
import torch

from benchmarks.torch_modules import MODULES
from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

TOLERANCE = 1e-4
EXPORTERS = ("dynamo", "script")


def exported(name: str, exporter: str) -> tuple[bytes, tuple[np.ndarray, ...]]:
    """The ONNX file that an exporter makes of a module, and the module's inputs."""
    torch.manual_seed(0)
    module, inputs = MODULES[name]()
    module.eval()
    content = io.BytesIO()
    with torch.no_grad(), redirect_stdout(io.StringIO()):
        if exporter == "dynamo":
            program = torch.onnx.export(module, inputs, dynamo=True, verbose=False)
            content.write(program.model_proto.SerializeToString())
        else:
            torch.onnx.export(module, inputs, content, dynamo=False, opset_version=18)
    return content.getvalue(), tuple(each.numpy() for each in inputs)


def expected(model: bytes, inputs: Sequence[np.ndarray]) -> tuple[Mapping[str, Any], list[Any]]:
    """The inputs by name, and what onnxruntime answers."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    feeds = dict(zip(names, inputs, strict=False))
    return feeds, session.run(None, feeds)


def difference(actual: Sequence[Any], wanted: Sequence[Any]) -> float:
    """The largest difference, relative to the largest number of each output or to 1."""
    worst = 0.0
    for found, each in zip(actual, wanted, strict=True):
        found, each = np.asarray(found), np.asarray(each)
        if found.shape != each.shape or found.dtype != each.dtype:
            return float("inf")
        same = (found == each) | (np.isnan(found) & np.isnan(each))
        wide = [array.astype(np.float64) for array in (found, each)]
        scale = max(1.0, float(np.max(np.abs(wide[1]), initial=0, where=np.isfinite(wide[1]))))
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0.0, np.abs(wide[0] - wide[1])) / scale
        worst = max(worst, float(np.max(np.nan_to_num(error, nan=np.inf), initial=0.0)))
    return worst


def outcome(name: str, exporter: str) -> str:
    """What became of one export."""
    try:
        model, inputs = exported(name, exporter)
        feeds, wanted = expected(model, inputs)
    except Exception as error:  # noqa: BLE001  (whatever torch or onnxruntime does not do)
        return f"no peer: {type(error).__name__}: {_line(error)}"
    try:
        actual = build(from_onnx(model)).run(feeds)
        if not isinstance(actual, list):
            return "wrong: the outputs are no list"
        worst = difference(actual, wanted)
    except RelayError as problem:
        return f"refused: {_line(problem)}"
    return "right" if worst <= TOLERANCE else f"wrong: the difference is {worst:.2g}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def main() -> int:
    """Export and compare; print what is not right, and counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--match", default="", help="only modules whose name matches")
    parser.add_argument("--exporter", default="both", choices=("both", *EXPORTERS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    counts: Counter[str] = Counter()
    for exporter in EXPORTERS if options.exporter == "both" else (options.exporter,):
        for name in MODULES:
            if re.search(options.match, name):
                result = outcome(name, exporter)
                counts[result.split(":")[0]] += 1
                if result != "right":
                    print(f"{exporter} {name}: {result}", flush=True)
    for status, count in sorted(counts.items()):
        print(f"{status:8} {count:4}")
    return int(counts["refused"] + counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
