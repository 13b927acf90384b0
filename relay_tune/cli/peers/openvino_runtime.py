"""OpenVINO for short latency, without copies of inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from relay_tune.cli.peers.peer import Array, Run


def prepare_openvino(
    path: Path, inputs: Mapping[str, Array], threads: int, *, precision: str = "f32"
) -> Run:
    """A compiled model for a file, which computes floats in a precision: `f32` or `bf16`."""
    runtime = import_module("openvino")
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": precision,
    }
    compiled = runtime.Core().compile_model(str(path), "CPU", settings)
    request = compiled.create_infer_request()
    feeds = dict(inputs)

    def run() -> list[Array]:
        results = request.infer(feeds, share_inputs=True, share_outputs=True)
        return [results[output] for output in compiled.outputs]

    return run
